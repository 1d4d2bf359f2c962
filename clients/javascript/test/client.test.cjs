'use strict';

// Against a small server that answers as told; the whole way to GitLab is tested from Python, with the emulator.

const { test } = require('node:test');
const assert = require('node:assert/strict');
const http = require('node:http');

const McpGitlabClient = require('../index.cjs');
const { McpGitlabError } = McpGitlabClient;
const { OPERATIONS, READS } = require('../operations.cjs');
const crypto = require('node:crypto');

async function served(answers, use, options = {}) {
  const seen = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => { body += chunk; });
    request.on('end', () => {
      seen.push({ headers: request.headers, raw: body, body: JSON.parse(body) });
      const next = answers[Math.min(seen.length, answers.length) - 1];
      const answer = typeof next === 'function' ? next(JSON.parse(body)) : next;
      if (answer === null) { request.socket.destroy(); return; }
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
    ...options,
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

const asked = (seconds) => ({
  status: 429,
  body: {
    jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'x', data: { status: 429, retry_after: seconds } },
  },
});

test('a server that says how long to wait is obeyed, in the answer or in its header', async () => {
  const header = { ...limited, headers: { 'retry-after': '3' } };
  const away = { ...header, status: 503, body: { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'busy' } } };
  await served([asked(7), header, away, good], async (client, seen, naps) => {
    assert.equal((await client.getProject({ project_id: 1 })).id, 5);
    assert.deepEqual(naps, [7000, 3000, 3000]);
  });
});

test('a server that asks for more than a minute is not waited for', async () => {
  await served([asked(61), good], async (client, seen, naps) => {
    await assert.rejects(client.getProject({ project_id: 1 }), { code: -32000, retryAfter: 61 });
    assert.deepEqual(naps, []);
  });
});

test('requests are signed anew each time, with a time and a nonce', async () => {
  await served([limited, good], async (client, seen) => {
    await client.getProject({ project_id: 1 });
    const nonces = seen.map(({ headers, raw }) => {
      const signed = `${headers['x-mcp-timestamp']}.${headers['x-mcp-nonce']}.${raw}`;
      const hmac = crypto.createHmac('sha256', 'a secret').update(signed).digest('hex');
      assert.equal(headers['x-mcp-signature'], `sha256=${hmac}`);
      return headers['x-mcp-nonce'];
    });
    assert.notEqual(nonces[0], nonces[1]);
  }, { secret: 'a secret' });
});

test('without a time the signature is the contract\'s, over the body alone', async () => {
  await served([good], async (client, seen) => {
    await client.getProject({ project_id: 1 });
    const hmac = crypto.createHmac('sha256', 'a secret').update(seen[0].raw).digest('hex');
    assert.equal(seen[0].headers['x-mcp-signature'], `sha256=${hmac}`);
    assert.equal(seen[0].headers['x-mcp-timestamp'], undefined);
  }, { secret: 'a secret', timestamp: false });
});

test('headers of the client and of a call are sent; the client\'s own cannot be replaced', async () => {
  await served([good], async (client, seen) => {
    await client.getProject({ project_id: 1 }, { headers: { 'X-MCP-Readonly': 'true' } });
    assert.equal(seen[0].headers['x-mcp-toolsets'], 'ci');
    assert.equal(seen[0].headers['x-mcp-readonly'], 'true');
    await assert.rejects(client.call('x', {}, { headers: { Authorization: 'no' } }), TypeError);
    await assert.rejects(client.call('x', {}, { headers: { 'X-A': 'a\r\nX-B: b' } }), TypeError);
    assert.equal(seen.length, 1);
  }, { headers: { 'X-MCP-Toolsets': 'ci' } });
});

test('a batch answers in order, and only what was over the limit is sent again', async () => {
  const first = { body: [
    { jsonrpc: '2.0', id: 3, error: { code: -32000, message: 'x', data: { status: 429, retry_after: 2 } } },
    { jsonrpc: '2.0', id: 2, error: { code: -32602, message: 'Invalid params', data: { message: 'no' } } },
    { jsonrpc: '2.0', id: 1, result: { id: 5 } },
  ] };
  const second = { body: [{ jsonrpc: '2.0', id: 3, result: { id: 6 } }] };
  await served([first, second], async (client, seen, naps) => {
    const calls = ['list_projects', 'get_issue', 'list_issues'].map((method) => ({ method }));
    const [one, two, three] = await client.batch(calls);
    assert.equal(one.result.id, 5);
    assert.ok(two instanceof McpGitlabError);
    assert.equal(two.message, 'Invalid params: no');
    assert.equal(three.id, 6);
    assert.deepEqual(seen[1].body.map(({ id }) => id), [3]);
    assert.deepEqual(naps, [2000]);
    assert.deepEqual(await client.batch([]), []);
  });
});

test('a batch that is refused as a whole throws, and a call without an answer says so', async () => {
  const refusal = { body: { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid Request' } } };
  await served([refusal, { body: [] }], async (client) => {
    await assert.rejects(client.batch([{ method: 'list_projects' }]), { code: -32600 });
    const [answer] = await client.batch([{ method: 'list_projects' }]);
    assert.equal(answer.data.outcome, 'unknown');
  });
});

test('what became of a write without an answer is said to be unknown', async () => {
  await served([() => null], async (client) => {
    await assert.rejects(client.createIssue({ project_id: 1, title: 'x' }), (error) => {
      assert.equal(error.data.outcome, 'unknown');
      return true;
    });
    await assert.rejects(client.getIssue({ project_id: 1 }), (error) => {
      assert.equal(error.data.outcome, undefined);
      return true;
    });
  });
  assert.ok(READS.has('get_issue') && !READS.has('create_issue'));
});

test('an endpoint with a password in it is refused', () => {
  assert.throws(() => new McpGitlabClient({ endpoint: 'http://user:pass@x.example/', token: 't' }), TypeError);
});
