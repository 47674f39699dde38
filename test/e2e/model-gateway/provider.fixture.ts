import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApiClient } from '#testing';

/** A request as a provider received it. */
export interface ProviderCall {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, any>;
  text: string;
}

export type ProviderAnswer = (call: ProviderCall, response: ServerResponse) => void | Promise<void>;

/** A model provider in the test: an HTTP server that records its requests. */
export class FakeProvider {
  readonly calls: ProviderCall[] = [];
  /** Number of calls whose client disconnected before the end of the response. */
  aborted = 0;
  connections = 0;
  answer: ProviderAnswer = chat('Hello');

  private constructor(private readonly server: http.Server) {
    server.on('connection', () => this.connections++);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => undefined).on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('close', () => {
        if (!response.writableFinished) this.aborted++;
      });
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const call = { path: request.url ?? '', headers: request.headers, body: parsed(text), text };
        this.calls.push(call);
        void this.answer(call, response);
      });
    });
  }

  static async listen(): Promise<FakeProvider> {
    const server = http.createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FakeProvider(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  get last(): ProviderCall {
    return this.calls.at(-1)!;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

export const json = (response: ServerResponse, body: object, status = 200, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

/** Responds with a chat completion, streamed if requested. */
export const chat =
  (text: string, usage: object | null = USAGE): ProviderAnswer =>
  ({ body }, response) => {
    if (body.stream === true) return chatStream([text], usage)({ body } as ProviderCall, response);
    json(response, chatCompletion({ role: 'assistant', content: text }, usage));
  };

export const chatCompletion = (message: object, usage: object | null = USAGE): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'upstream-2026',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  ...(usage && { usage }),
});

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'upstream-2026',
  choices: [{ index: 0, delta, finish_reason }],
});

/** Streams a chat completion, with the usage if requested. */
export const chatStream =
  (texts: readonly string[], usage: object | null = USAGE): ProviderAnswer =>
  ({ body }, response) => {
    begin(response);
    send(response, chunk({ role: 'assistant', content: '' }));
    for (const content of texts) send(response, chunk({ content }));
    send(response, chunk({}, 'stop'));
    if (body.stream_options?.include_usage === true && usage)
      send(response, { ...chunk({}), choices: [], usage });
    response.end('data: [DONE]\n\n');
  };

export const begin = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
};

export const send = (response: ServerResponse, data: object, event?: string): void => {
  response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`);
};

export const contentChunk = (content: string): object => chunk({ content });

/** Returns an Anthropic message. */
export const message = (content: object[], more: object = {}): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-upstream',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 },
  ...more,
});

/** Streams an Anthropic message with one text. */
export const messageStream =
  (texts: readonly string[]): ProviderAnswer =>
  (_call, response) => {
    begin(response);
    const start = message([], { stop_reason: null, usage: { input_tokens: 7, output_tokens: 1 } });
    send(response, { type: 'message_start', message: start }, 'message_start');
    send(
      response,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      'content_block_start',
    );
    for (const text of texts) {
      send(
        response,
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
        'content_block_delta',
      );
    }
    send(response, { type: 'content_block_stop', index: 0 }, 'content_block_stop');
    const delta = { stop_reason: 'end_turn', stop_sequence: null };
    send(response, { type: 'message_delta', delta, usage: { output_tokens: 3 } }, 'message_delta');
    send(response, { type: 'message_stop' }, 'message_stop');
    response.end();
  };

/** Registers a provider. Returns its id. */
export async function newProvider(
  admin: ApiClient,
  workspaceId: string,
  provider: FakeProvider | string,
  more: object = {},
): Promise<string> {
  const answer = await admin.post('/model/v1/providers', {
    workspace_id: workspaceId,
    name: `provider ${Math.random()}`,
    kind: 'openai',
    base_url: typeof provider === 'string' ? provider : provider.url,
    api_key: 'sk-of-the-provider',
    ...more,
  });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return (answer.body as { provider_id: string }).provider_id;
}

/** Registers a model. Returns its id. */
export async function newModel(admin: ApiClient, workspaceId: string, body: object): Promise<string> {
  const answer = await admin.post('/model/v1/models', { workspace_id: workspaceId, retries: 0, ...body });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return (answer.body as { model_id: string }).model_id;
}

/** Registers a model with a new provider. Returns the name that clients call. */
export async function modelOf(
  admin: ApiClient,
  workspaceId: string,
  provider: FakeProvider | string,
  { kind = 'openai', ...more }: { kind?: string } & Record<string, unknown> = {},
): Promise<string> {
  const provider_id = await newProvider(admin, workspaceId, provider, { kind });
  const name = `m-${Math.random().toString(36).slice(2)}`;
  const targets = [{ provider_id, upstream_model: 'gpt-test' }];
  await newModel(admin, workspaceId, { name, targets, ...more });
  return name;
}
