import type { ObservedAnswer } from './contract';

/** What the service answered. */
export interface Answer<Body = any> {
  status: number;
  headers: Headers;
  /** Parsed where it is JSON, else the text; undefined where there is none. */
  body: Body;
}

export interface RequestOptions {
  /** Sent as JSON, unless it is a string, bytes or a form. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls the service over HTTP, as one caller. */
export class ApiClient {
  /** @param token an access token or an API key; without one, no `Authorization` is sent. */
  constructor(
    readonly baseUrl: string,
    private readonly token?: string,
    readonly workspaceId?: string,
    /** Is shown every answer: what holds it to the OpenAPI document. */
    private readonly observe?: (answer: ObservedAnswer) => void,
  ) {}

  /** The same caller, within a workspace. */
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
    const sent = bodyOf(body);
    const answer = await fetch(this.baseUrl + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
        ...(this.workspaceId === undefined ? {} : { 'x-service-workspace-id': this.workspaceId }),
        ...(sent.type === undefined ? {} : { 'content-type': sent.type }),
        ...headers,
      },
      body: sent.content,
    });
    const content = parsed(answer, await answer.text());
    const { status } = answer;
    this.observe?.({
      method,
      url: path,
      status,
      headers: answer.headers,
      body: content,
    });
    return { status, headers: answer.headers, body: content as Body };
  }
}

function bodyOf(body: unknown): { content?: NonNullable<RequestInit['body']>; type?: string } {
  if (body === undefined) return {};
  if (typeof body === 'string' || body instanceof Uint8Array) {
    return { content: body, type: 'application/json' };
  }
  // fetch names their media types itself
  if (body instanceof URLSearchParams || body instanceof FormData) return { content: body };
  return { content: JSON.stringify(body), type: 'application/json' };
}

function parsed(answer: Response, text: string): unknown {
  const type = answer.headers.get('content-type') ?? '';
  const isJson = /[/+]json\b/.test(type);
  // an empty file is a text; where there is nothing to be read, there is no type, or JSON is missing
  if (text === '') return type === '' || isJson ? undefined : text;
  return isJson ? JSON.parse(text) : text;
}
