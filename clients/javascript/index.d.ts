import type { Operations } from './operations';

/** The result of a call; it also answers to `.result`, for code written against the envelope. */
export type Result = Record<string, any> & { readonly result: Result };

export interface Envelope {
  jsonrpc: '2.0';
  result: any;
  id: number;
}

export interface Options {
  endpoint: string;
  token: string;
  /** Milliseconds until a call is given up; 60000 by default. */
  timeout?: number;
  /** Headers of every request, such as `X-MCP-Toolsets`. */
  headers?: Record<string, string>;
  /** Signs every request (`X-MCP-Signature`). */
  secret?: string | Uint8Array;
  /** Whether a signature covers a time and a nonce; false signs the body alone, as in the contract. */
  timestamp?: boolean;
  sleep?: (milliseconds: number) => Promise<void>;
  fetch?: typeof fetch;
}

export interface Call {
  method: string;
  params?: Record<string, unknown>;
}

export interface PerCall {
  headers?: Record<string, string>;
}

export declare class McpGitlabError extends Error {
  code: number;
  data: Record<string, any>;
  readonly status: number | undefined;
  /** Seconds to wait before the same call may succeed. */
  readonly retryAfter: number | undefined;
}

export declare class McpGitlabClient {
  constructor(options: Options);
  request(request: Call & PerCall): Promise<Envelope>;
  call(method: string, params?: Record<string, unknown>, options?: PerCall): Promise<Result>;
  /** Several calls at once: answers in their order, an error in the place of its call. */
  batch(calls: ReadonlyArray<Call>, options?: PerCall): Promise<Array<Result | McpGitlabError>>;
}

/** A method for each operation; they are made from the list in operations.cjs. */
export interface McpGitlabClient extends Operations {}

export default McpGitlabClient;
