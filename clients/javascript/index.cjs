'use strict';

// A client for the GitLab methods of a Postil server: one method for each operation, retries as in the contract.

const OPERATIONS = require('./operations.cjs');

/** Milliseconds before the three retries of a call that was over a limit. */
const RETRY_DELAYS = [1000, 2000, 4000];

/** A JSON-RPC error: `code`, `message` and `data`; `status` is GitLab's, where the error came from there. */
class McpGitlabError extends Error {
  constructor(code, message, data = {}) {
    super(data && data.message ? `${message}: ${data.message}` : message);
    this.name = 'McpGitlabError';
    this.code = code;
    this.data = data || {};
  }

  get status() {
    return this.data.status;
  }
}

class McpGitlabClient {
  #endpoint;
  #token;
  #timeout;
  #sleep;
  #fetch;
  #next = 1;

  /** @param {{endpoint: string, token: string, timeout?: number, sleep?: Function, fetch?: Function}} options */
  constructor({ endpoint, token, timeout = 60000, sleep = pause, fetch = globalThis.fetch } = {}) {
    const address = new URL(endpoint);
    if (address.protocol !== 'http:' && address.protocol !== 'https:') {
      throw new TypeError(`endpoint must be an http or https address, not ${endpoint}`);
    }
    this.#endpoint = address.href;
    this.#token = token;
    this.#timeout = timeout;
    this.#sleep = sleep;
    this.#fetch = fetch;
  }

  /** Send one request and give the whole envelope: `{jsonrpc, result, id}`. Throws McpGitlabError on an error. */
  async request({ method, params = {} }) {
    const body = JSON.stringify({ jsonrpc: '2.0', method, params, id: this.#next++ });
    for (let attempt = 0; ; attempt += 1) {
      const envelope = await this.#post(body);
      if (!envelope.error) return envelope;
      const { code, message, data } = envelope.error;
      const limited = code === -32000 && data && data.status === 429;
      if (!limited || attempt >= RETRY_DELAYS.length) throw new McpGitlabError(code, message, data);
      await this.#sleep(RETRY_DELAYS[attempt]);
    }
  }

  /** Call any method and give its result, which also answers to `.result`. */
  async call(method, params = {}) {
    const { result } = await this.request({ method, params });
    if (result === null || typeof result !== 'object') return result;
    return Object.defineProperty(result, 'result', { value: result, enumerable: false });
  }

  async #post(body) {
    let response;
    let text;
    try {
      response = await this.#fetch(this.#endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#token}` },
        body,
        redirect: 'error', // the token goes to the endpoint and nowhere else
        signal: AbortSignal.timeout(this.#timeout),
      });
      text = await response.text();
    } catch (error) {
      const why = (error.cause && error.cause.code) || error.name;
      const said = new McpGitlabError(-32603, `The server did not answer (${why})`, { status: 503 });
      said.cause = error;
      throw said;
    }
    let envelope;
    try {
      envelope = JSON.parse(text);
    } catch {
      envelope = null;
    }
    if (envelope === null || typeof envelope !== 'object' || !('result' in envelope || 'error' in envelope)) {
      const said = `The server answered status ${response.status} and no JSON-RPC object: check the endpoint`;
      throw new McpGitlabError(-32603, said, { status: response.status });
    }
    return envelope;
  }
}

for (const method of OPERATIONS) {
  const name = method.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  McpGitlabClient.prototype[name] = function operation(params) {
    return this.call(method, params);
  };
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
