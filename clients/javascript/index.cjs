'use strict';

// A client for the GitLab methods of a Postil server: one method for each operation, retries as in the contract.

const { OPERATIONS, READS } = require('./operations.cjs');

/** Milliseconds before the three retries of a call that was over a limit, where the server did not say how long. */
const RETRY_DELAYS = [1000, 2000, 4000];
/** Milliseconds that are waited at most: a server that asks for more is not waited for. */
const LONGEST_WAIT = 60000;
/** Headers that the client writes itself. */
const OURS = new Set([
  'authorization', 'connection', 'content-length', 'content-type', 'host', 'transfer-encoding',
  'x-mcp-nonce', 'x-mcp-signature', 'x-mcp-timestamp',
]);

/** A JSON-RPC error: `code`, `message` and `data`; `status` is GitLab's, where the error came from there. */
class McpGitlabError extends Error {
  constructor(code, message, data = {}) {
    super(data && data.message && data.message !== message ? `${message}: ${data.message}` : message);
    this.name = 'McpGitlabError';
    this.code = code;
    this.data = data || {};
  }

  get status() {
    return this.data.status;
  }

  /** Seconds to wait before the same call may succeed; undefined where the server did not say. */
  get retryAfter() {
    return typeof this.data.retry_after === 'number' && this.data.retry_after >= 0 ? this.data.retry_after : undefined;
  }
}

class McpGitlabClient {
  #endpoint;
  #token;
  #timeout;
  #headers;
  #secret;
  #timestamp;
  #sleep;
  #fetch;
  #next = 1;

  /**
   * @param {{endpoint: string, token: string, timeout?: number, headers?: Record<string, string>,
   *   secret?: string | Uint8Array, timestamp?: boolean, sleep?: Function, fetch?: Function}} options
   */
  constructor({
    endpoint, token, timeout = 60000, headers = {}, secret, timestamp = true, sleep = pause, fetch = globalThis.fetch,
  } = {}) {
    const address = new URL(endpoint);
    if (address.protocol !== 'http:' && address.protocol !== 'https:') {
      throw new TypeError(`endpoint must be an http or https address, not ${endpoint}`);
    }
    if (address.username || address.password) {
      throw new TypeError('endpoint must not hold a user or a password: give the token as `token`');
    }
    this.#endpoint = address.href;
    this.#token = token;
    this.#timeout = timeout;
    this.#headers = checkedHeaders(headers);
    this.#secret = secret;
    this.#timestamp = timestamp;
    this.#sleep = sleep;
    this.#fetch = fetch;
  }

  /** Send one request and give the whole envelope: `{jsonrpc, result, id}`. Throws McpGitlabError on an error. */
  async request({ method, params = {}, headers }) {
    const request = { jsonrpc: '2.0', method, params, id: this.#next++ };
    for (let attempt = 0; ; attempt += 1) {
      const answer = await this.#post(request, READS.has(method), headers);
      const envelope = answer.message;
      if (Array.isArray(envelope)) throw unreadable(answer);
      if (!envelope.error) return envelope;
      const wait = findWait(attempt, [envelope], answer);
      if (wait === undefined) throw errorOf(envelope.error);
      await this.#sleep(wait);
    }
  }

  /** Call any method and give its result, which also answers to `.result`. */
  async call(method, params = {}, { headers } = {}) {
    const { result } = await this.request({ method, params, headers });
    return opened(result);
  }

  /**
   * Send several calls (`{method, params}`) at once and give their answers in order. An McpGitlabError stands in the
   * place of its call; only calls that were over a limit are sent again.
   */
  async batch(calls, { headers } = {}) {
    const open = new Map(
      calls.map(({ method, params = {} }, place) => [place + 1, { jsonrpc: '2.0', method, params, id: place + 1 }]),
    );
    const answers = new Map();
    for (let attempt = 0; open.size > 0; attempt += 1) {
      const requests = [...open.values()];
      const answer = await this.#post(requests, requests.every(({ method }) => READS.has(method)), headers);
      const envelopes = Array.isArray(answer.message) ? answer.message : [answer.message];
      const wait = findWait(attempt, envelopes, answer);
      if (!Array.isArray(answer.message)) {
        if (wait === undefined) throw errorOf(answer.message.error); // the batch itself was refused
      } else {
        for (const envelope of envelopes) {
          if (envelope && open.has(envelope.id) && (wait === undefined || !isLimited(envelope))) {
            open.delete(envelope.id);
            answers.set(envelope.id, envelope.error ? errorOf(envelope.error) : opened(envelope.result));
          }
        }
        if (wait === undefined) break;
      }
      if (open.size > 0) await this.#sleep(wait);
    }
    const missing = new McpGitlabError(-32603, 'The server did not answer this call of the batch', { outcome: 'unknown' });
    return calls.map((_, place) => (answers.has(place + 1) ? answers.get(place + 1) : missing));
  }

  async #post(message, onlyReads, extra) {
    const body = JSON.stringify(message);
    const headers = {
      ...this.#headers,
      ...(extra ? checkedHeaders(extra) : {}),
      'content-type': 'application/json',
      authorization: `Bearer ${this.#token}`,
      ...(this.#secret ? signed(body, this.#secret, this.#timestamp) : {}),
    };
    let response;
    let text;
    try {
      response = await this.#fetch(this.#endpoint, {
        method: 'POST',
        headers,
        body,
        redirect: 'error', // the token goes to the endpoint and nowhere else
        signal: AbortSignal.timeout(this.#timeout),
      });
      text = await response.text();
    } catch (error) {
      const why = (error.cause && error.cause.code) || error.name;
      const isKnown = onlyReads || why === 'ECONNREFUSED' || why === 'ENOTFOUND';
      const data = isKnown ? { status: 503 } : { status: 503, outcome: 'unknown' };
      const said = new McpGitlabError(-32603, `The server did not answer (${why})`, data);
      said.cause = error;
      throw said;
    }
    const answer = { status: response.status, retryAfter: response.headers.get('retry-after'), message: null };
    try {
      answer.message = JSON.parse(text);
    } catch {
      throw unreadable(answer);
    }
    const { message: read } = answer;
    if (read === null || typeof read !== 'object') throw unreadable(answer);
    if (!Array.isArray(read) && !('result' in read || 'error' in read)) throw unreadable(answer);
    return answer;
  }
}

for (const method of OPERATIONS) {
  const name = method.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  McpGitlabClient.prototype[name] = function operation(params, options) {
    return this.call(method, params, options);
  };
}

/**
 * Milliseconds to wait before trying again (the first try is 0); undefined when this answer stands. Tried again is what
 * was over a limit, and what an HTTP 503 with `Retry-After` refused: nothing of it was begun.
 */
function findWait(attempt, envelopes, { status, retryAfter }) {
  const limited = envelopes.filter((envelope) => envelope && isLimited(envelope));
  const refused = status === 503 && retryAfter !== null;
  if (attempt >= RETRY_DELAYS.length || !(limited.length || refused)) return undefined;
  const stated = limited.map((envelope) => errorOf(envelope.error).retryAfter).filter((one) => one !== undefined);
  if (!stated.length && /^\d{1,9}$/.test(retryAfter || '')) stated.push(Number(retryAfter));
  const wait = stated.length ? Math.max(...stated) * 1000 : RETRY_DELAYS[attempt];
  return wait <= LONGEST_WAIT ? wait : undefined;
}

function isLimited({ error }) {
  return Boolean(error && error.code === -32000 && error.data && error.data.status === 429);
}

function errorOf(error) {
  if (error === null || typeof error !== 'object') {
    return new McpGitlabError(-32603, 'The server answered an error that cannot be read');
  }
  return new McpGitlabError(error.code, error.message, error.data);
}

function opened(result) {
  if (result === null || typeof result !== 'object') return result;
  return Object.defineProperty(result, 'result', { value: result, enumerable: false });
}

function unreadable({ status }) {
  const said = `The server answered status ${status} and no JSON-RPC object: check the endpoint`;
  return new McpGitlabError(-32603, said, { status });
}

/** The headers that sign a body: with a time and a nonce, or in the contract's form, over the body alone. */
function signed(body, secret, timestamp) {
  const crypto = require('node:crypto'); // only signing pays for it
  const sign = (payload) => `sha256=${crypto.createHmac('sha256', secret).update(payload).digest('hex')}`;
  if (!timestamp) return { 'x-mcp-signature': sign(body) };
  const now = String(Math.floor(Date.now() / 1000));
  const nonce = crypto.randomBytes(16).toString('hex');
  return { 'x-mcp-timestamp': now, 'x-mcp-nonce': nonce, 'x-mcp-signature': sign(`${now}.${nonce}.${body}`) };
}

function checkedHeaders(headers) {
  const checked = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw new TypeError(`the header ${JSON.stringify(name)} holds characters that a header cannot have`);
    }
    if (OURS.has(name.toLowerCase())) throw new TypeError(`the header ${name} is written by the client itself`);
    checked[name] = value;
  }
  return checked;
}

function pause(milliseconds) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

module.exports = McpGitlabClient;
module.exports.McpGitlabClient = McpGitlabClient;
module.exports.McpGitlabError = McpGitlabError;
module.exports.default = McpGitlabClient;
