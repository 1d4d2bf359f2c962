'use strict';

// The script of test_oracles.py, by @gitbeaker/rest: prints what it sees.

const { Gitlab } = require('@gitbeaker/rest');

// The second half: review, CI, history, people.
async function review(client, one) {
  const seen = {};
  const versions = await client.MergeRequests.allDiffVersions(123, 1);
  const newest = await client.MergeRequests.showDiffVersion(123, 1, versions[0].id);
  const position = {
    positionType: 'text', newPath: 'src/app.py', oldPath: 'src/app.py', newLine: '1',
    baseSha: newest.base_commit_sha, startSha: newest.start_commit_sha, headSha: newest.head_commit_sha,
  };
  const made = await client.MergeRequestDiscussions.create(123, 1, 'On a line', { position });
  seen.placed = [Number(made.notes[0].position.new_line)];
  await client.MergeRequestDraftNotes.create(123, 1, 'Drafted', { position });
  await client.MergeRequestDraftNotes.create(123, 1, 'In all');
  await client.MergeRequestDraftNotes.publishBulk(123, 1);
  const threads = await client.MergeRequestDiscussions.all(123, 1);
  seen.reviewed = threads.map((thread) => thread.notes[0].body).slice(-2);
  await client.MergeRequestDiscussions.resolve(123, 1, threads[0].id, true);
  const after = await client.MergeRequestDiscussions.show(123, 1, threads[0].id);
  seen.resolved = after.notes.filter((note) => note.resolvable).every((note) => note.resolved);
  await client.MergeRequestApprovals.approve(123, 1);
  await client.MergeRequestApprovals.unapprove(123, 1);
  const [milestone] = await client.ProjectMilestones.all(123, { title: 'v1.0' });
  await client.MergeRequests.edit(123, 1, { title: 'Better', addLabels: 'bug', milestoneId: milestone.id });
  const merge = await client.MergeRequests.show(123, 1);
  seen.changed = [merge.title, merge.labels, merge.sha];
  seen.runs = (await client.MergeRequests.allPipelines(123, 1)).map((run) => run.id);
  seen.retried = (await client.Pipelines.retry(123, 1002)).status;
  seen.canceled = (await client.Pipelines.cancel(123, 1002)).status;
  seen.job = (await client.Jobs.retry(123, 1001)).status;
  seen.tests = (await client.Pipelines.showTestReportSummary(123, 1002)).total.count;
  const bridges = await client.Jobs.allPipelineBridges(123, 1002);
  seen.children = bridges.map((one) => one.downstream_pipeline.id);
  seen.log = (await client.Jobs.showLog(123, 1003)).trimEnd().split('\n').at(-1);
  seen.commits = (await client.Commits.all(123, { refName: 'main', maxPages: 1 })).map((item) => item.title);
  const diff = await client.Commits.showDiff(123, 'main');
  seen.commit = [(await client.Commits.show(123, 'main')).title, diff.map((item) => item.new_path)];
  seen.compared = (await client.Repositories.compare(123, 'main', 'other')).commits.map((item) => item.title);
  const [blamed] = await client.RepositoryFiles.allFileBlames(123, 'src/app.py', 'main');
  seen.blamed = blamed.lines.join('\n');
  seen.branches = (await client.Branches.all(123)).map((item) => item.name);
  seen.tags = (await client.Tags.all(123)).map((item) => item.name);
  seen.code = (await client.Search.all('blobs', 'hello', { projectId: 123 })).map((item) => item.path);
  seen.labels = (await client.ProjectLabels.all(123)).map((item) => item.name);
  seen.milestones = (await client.ProjectMilestones.all(123)).map((item) => item.title);
  seen.me = (await client.Users.showCurrentUser()).username;
  seen.users = (await client.Users.all({ search: 'john', ...one })).map((item) => item.username);
  const own = await client.MergeRequests.all({ scope: 'created_by_me', state: 'opened', maxPages: 1 });
  seen.work = [own.map((item) => item.iid), (await client.TodoLists.all()).map((item) => item.id)];
  seen.merged = (await client.MergeRequests.merge(123, 1, { sha: merge.sha })).state;
  return seen;
}

async function main() {
  const client = new Gitlab({ host: process.env.GITLAB, oauthToken: process.env.TOKEN });
  const seen = {};
  const one = { pagination: 'offset', maxPages: 1 };
  seen.projects = (await client.Projects.all(one)).map((item) => item.id);
  seen.project = (await client.Projects.show('username/my-project')).name;
  const page = await client.Issues.all({
    projectId: 124, state: 'opened', labels: 'bug', page: 2, perPage: 5, maxPages: 1, showExpanded: true,
  });
  seen.issues = page.data.map((item) => [item.id, item.iid, item.title]);
  seen.total = page.paginationInfo.total;
  const made = await client.Issues.create(123, 'By a script', {
    description: 'Body', assigneeIds: [456], labels: 'bug,priority-high',
  });
  seen.made = [made.id, made.iid, made.title];
  const kept = await client.Issues.show(made.iid, { projectId: 123 });
  seen.kept = [kept.labels, kept.assignee.username, kept.state];
  const requests = await client.MergeRequests.all({ projectId: 123, state: 'opened', maxPages: 1 });
  seen.merge_requests = requests.map((item) => item.source_branch);
  seen.diffs = (await client.MergeRequests.allDiffs(123, 1)).map((item) => item.new_path);
  const [thread] = await client.MergeRequestDiscussions.all(123, 1);
  await client.MergeRequestDiscussions.addNote(123, 1, thread.id, 'Because.');
  const after = await client.MergeRequestDiscussions.all(123, 1);
  seen.notes = after[0].notes.map((note) => note.body);
  seen.pipelines = (await client.Pipelines.all(123, { maxPages: 1 })).map((item) => item.status);
  const started = await client.Pipelines.create(123, 'main', { variables: [{ key: 'CUSTOM_VAR', value: 'value' }] });
  seen.started = [started.ref, started.status];
  const file = await client.RepositoryFiles.show(123, 'src/app.py', 'main');
  seen.file = Buffer.from(file.content, 'base64').toString();
  seen.tree = (await client.Repositories.allRepositoryTrees(123, { path: 'src' })).map((item) => item.path);
  seen.found = (await client.Projects.all({ search: 'tools', maxPages: 1 })).map((item) => item.id);
  const hook = await client.ProjectHooks.add(123, 'https://93.184.216.34/hook', {
    issuesEvents: true, pushEvents: false,
  });
  seen.hook = ['push', 'issues'].filter((name) => hook[`${name}_events`]);
  Object.assign(seen, await review(client, one));
  try {
    await client.Projects.show(999);
  } catch (error) {
    seen.missing = error.cause.response.status;
  }
  process.stdout.write(JSON.stringify(seen));
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n${JSON.stringify(error.cause ?? null)}\n`);
  process.exitCode = 1;
});
