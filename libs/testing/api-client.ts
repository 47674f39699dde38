import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { ObservedAnswer } from './contract';

/** A response of the service. */
export interface Answer<Body = any> {
  status: number;
  headers: Headers;
  /** Parsed JSON, else the text; undefined without a body. */
  body: Body;
}

export interface RequestOptions {
  /** Sent as JSON, unless it is a string, bytes or a form. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls the service over HTTP, as one caller. */
export class ApiClient {
  /** @param token an access token or an API key; without one, no `Authorization` is sent */
  constructor(
    readonly baseUrl: string,
    private readonly token?: string,
    readonly workspaceId?: string,
    /** Receives every response, to check it against the OpenAPI document. */
    private readonly observe?: (answer: ObservedAnswer) => void,
  ) {}

  /** Returns the same caller within a workspace. */
  in(workspaceId: string): ApiClient {
    return new ApiClient(this.baseUrl, this.token, workspaceId, this.observe);
  }

  get<Body = any>(path: string, headers?: Record<string, string>): Promise<Answer<Body>> {
    return this.request('GET', path, { headers });
  }

  post<Body = any>(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<Body>> {
    return this.request('POST', path, { body, headers });
  }

  put<Body = any>(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<Body>> {
    return this.request('PUT', path, { body, headers });
  }

  patch<Body = any>(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<Body>> {
    return this.request('PATCH', path, { body, headers });
  }

  delete<Body = any>(path: string, headers?: Record<string, string>): Promise<Answer<Body>> {
    return this.request('DELETE', path, { headers });
  }

  async request<Body = any>(
    method: string,
    path: string,
    { body, headers = {} }: RequestOptions = {},
  ): Promise<Answer<Body>> {
    const sent = await bodyOf(body);
    // fetch() would take more CPU time than most requests
    const sending = request(this.baseUrl + path, {
      method,
      agent: AGENT,
      headers: {
        ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
        ...(this.workspaceId === undefined ? {} : { 'x-service-workspace-id': this.workspaceId }),
        ...(sent.type === undefined ? {} : { 'content-type': sent.type }),
        ...headers,
      },
    });
    const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
    sending.end(sent.content);
    const [answer] = await answered;
    sending.on('error', ignore); // the service may respond before it has read the whole body
    const answerHeaders = headersOf(answer);
    const content = parse(answerHeaders.get('content-type') ?? '', await textOf(answer));
    const status = answer.statusCode!;
    this.observe?.({ method, url: path, status, headers: answerHeaders, body: content });
    return { status, headers: answerHeaders, body: content as Body };
  }
}

/** Keeps the connections of all clients in a process alive, for a shorter time than the service does. */
const AGENT = new Agent({ keepAlive: true, timeout: 4_000 });

const ignore = (): void => undefined;

async function bodyOf(body: unknown): Promise<{ content?: string | Uint8Array; type?: string }> {
  if (body === undefined) return {};
  if (typeof body === 'string' || body instanceof Uint8Array) {
    return { content: body, type: 'application/json' };
  }
  if (body instanceof URLSearchParams || body instanceof FormData) {
    const form = new Response(body);
    return { content: new Uint8Array(await form.arrayBuffer()), type: form.headers.get('content-type')! };
  }
  return { content: JSON.stringify(body), type: 'application/json' };
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
  return headers;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  answer.setEncoding('utf8');
  let text = '';
  for await (const part of answer) text += part as string;
  return text;
}

function parse(type: string, text: string): unknown {
  const isJson = /[/+]json\b/.test(type);
  // a file can be an empty text; otherwise there is no body
  if (text === '') return type === '' || isJson ? undefined : text;
  return isJson ? JSON.parse(text) : text;
}
