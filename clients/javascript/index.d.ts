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
  sleep?: (milliseconds: number) => Promise<void>;
  fetch?: typeof fetch;
}

export declare class McpGitlabError extends Error {
  code: number;
  data: Record<string, any>;
  readonly status: number | undefined;
}

export declare class McpGitlabClient {
  constructor(options: Options);
  request(request: { method: string; params?: Record<string, unknown> }): Promise<Envelope>;
  call(method: string, params?: Record<string, unknown>): Promise<Result>;
}

/** A method for each operation; they are made from the list in operations.cjs. */
export interface McpGitlabClient extends Operations {}

export default McpGitlabClient;
