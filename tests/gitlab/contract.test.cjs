'use strict';

// The contract's JavaScript: its two client snippets and both of its test examples, as they stand there.

const nodeTest = require('node:test');
const assert = require('node:assert/strict');
const path = require('node:path');

const { describe, it } = nodeTest;
const endpoint = process.env.ENDPOINT;
const token = process.env.TOKEN;
const McpGitlabClient = require(path.join(__dirname, '..', '..', 'clients', 'javascript'));

const client = new McpGitlabClient({ endpoint, token });

function expect(value) {
  return {
    toBe: (wanted) => assert.equal(value, wanted),
    toHaveProperty: (name) => assert.ok(name in value, `no ${name}`),
  };
}

describe('Client SDK', () => {
  it('runs the snippet of the contract', async () => {
    // List projects
    const projects = await client.listProjects({
      visibility: 'private'
    });

    // Create issue
    const issue = await client.createIssue({
      project_id: 123,
      title: 'New issue',
      description: 'Issue description'
    });

    assert.equal(projects.total_count, 1);
    assert.equal(issue.iid, 2);
  });

  it('backs off as the contract shows', async () => {
    const naps = [];
    const sleep = async (delay) => { naps.push(delay); };

    async function makeRequest(request) {
      let retries = 0;
      const maxRetries = 3;

      while (retries < maxRetries) {
        try {
          return await request();
        } catch (error) {
          if (error.code === -32000 && error.data.status === 429) {
            const delay = Math.pow(2, retries) * 1000;
            await sleep(delay);
            retries++;
            continue;
          }
          throw error;
        }
      }
    }

    await assert.rejects(makeRequest(() => client.getProject({ project_id: 999 })), (error) => {
      assert.equal(error.code, -32000);
      assert.equal(error.data.status, 404);
      return true;
    });
    let left = 2;
    const answer = await makeRequest(async () => {
      if (left-- > 0) throw new McpGitlabClient.McpGitlabError(-32000, 'GitLab API Error', { status: 429 });
      return client.getProject({ project_id: 123 });
    });
    assert.equal(answer.id, 123);
    assert.deepEqual(naps, [1000, 2000]);
  });
});

describe('MCP Protocol', () => {
  it('should list projects', async () => {
    const response = await client.request({
      method: 'list_projects',
      params: {}
    });

    expect(response.result).toHaveProperty('projects');
    expect(Array.isArray(response.result.projects)).toBe(true);
  });
});

describe('Issue Workflow', () => {
  it('should create and retrieve issue', async () => {
    // Create issue
    const createResponse = await client.createIssue({
      project_id: 123,
      title: 'Test issue'
    });

    const issueId = createResponse.result.id;

    // Retrieve issue
    const getResponse = await client.getIssue({
      project_id: 123,
      issue_id: issueId
    });

    expect(getResponse.result.title).toBe('Test issue');
  });
});
