'use strict';

// The script of test_oracles.py, by @gitbeaker/rest: prints what it sees.

const { Gitlab } = require('@gitbeaker/rest');

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
