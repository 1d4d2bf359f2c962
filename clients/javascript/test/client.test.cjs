'use strict';

// Against a small server that answers as told; the whole way to GitLab is tested from Python, with the emulator.

const { test } = require('node:test');
const assert = require('node:assert/strict');
const http = require('node:http');

const McpGitlabClient = require('../index.cjs');
const { McpGitlabError } = McpGitlabClient;
const OPERATIONS = require('../operations.cjs');

async function served(answers, use) {
  const seen = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => { body += chunk; });
    request.on('end', () => {
      seen.push({ headers: request.headers, body: JSON.parse(body) });
      const answer = answers[Math.min(seen.length, answers.length) - 1];
      response.writeHead(answer.status || 200, { 'content-type': 'application/json', ...answer.headers });
      response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const naps = [];
  const client = new McpGitlabClient({
    endpoint: `http://127.0.0.1:${server.address().port}/mcp`,
    token: 'a-token',
    sleep: async (milliseconds) => { naps.push(milliseconds); },
  });
  try {
    return await use(client, seen, naps);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const good = { body: { jsonrpc: '2.0', id: 1, result: { id: 5, projects: [] } } };
const limited = {
  status: 429,
  body: { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'GitLab API Error', data: { status: 429 } } },
};

test('a method returns the result, which also answers to .result', async () => {
  await served([good], async (client, seen) => {
    const answer = await client.listProjects({ visibility: 'private' });
    assert.equal(answer.id, 5);
    assert.equal(answer.result.id, 5);
    assert.deepEqual(Object.keys(answer), ['id', 'projects']);
    assert.deepEqual(seen[0].body.params, { visibility: 'private' });
    assert.equal(seen[0].body.method, 'list_projects');
    assert.equal(seen[0].headers.authorization, 'Bearer a-token');
  });
});

test('request returns the envelope', async () => {
  await served([good], async (client) => {
    const envelope = await client.request({ method: 'list_projects', params: {} });
    assert.ok(Array.isArray(envelope.result.projects));
  });
});

test('a call over the limit is retried after one, two and four seconds', async () => {
  await served([limited, limited, limited, good], async (client, seen, naps) => {
    assert.equal((await client.getProject({ project_id: 1 })).id, 5);
    assert.deepEqual(naps, [1000, 2000, 4000]);
  });
});

test('after three retries the error is the answer', async () => {
  await served([limited], async (client, seen) => {
    await assert.rejects(client.getProject({ project_id: 1 }), (error) => {
      assert.ok(error instanceof McpGitlabError);
      assert.equal(error.code, -32000);
      assert.equal(error.data.status, 429);
      return true;
    });
    assert.equal(seen.length, 4);
  });
});

test('an answer that is no JSON-RPC is an error of its own', async () => {
  await served([{ status: 502, body: '<html>' }], async (client, seen) => {
    await assert.rejects(client.listIssues({ project_id: 1 }), { code: -32603 });
    assert.equal(seen.length, 1);
  });
});

test('a redirect is not followed, so the token stays', async () => {
  await served([{ status: 307, headers: { location: 'http://127.0.0.1:1/' }, body: '' }], async (client) => {
    await assert.rejects(client.listIssues({ project_id: 1 }), { code: -32603 });
  });
});

test('every operation has a method in camelCase, and ESM gives the same class', async () => {
  for (const name of OPERATIONS) {
    const method = name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
    assert.equal(typeof McpGitlabClient.prototype[method], 'function', method);
  }
  const esm = await import('../index.mjs');
  assert.equal(esm.default, McpGitlabClient);
  assert.equal(esm.McpGitlabClient, McpGitlabClient);
  assert.equal(esm.McpGitlabError, McpGitlabError);
});

test('an endpoint that is no address is refused at once', () => {
  assert.throws(() => new McpGitlabClient({ endpoint: 'ftp://x', token: 't' }), TypeError);
});
