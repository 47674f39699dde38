import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a judge has received. */
export interface TestJudgeRequest {
  path: string;
  headers: http.IncomingHttpHeaders;
  /** Byte for byte. */
  body: string;
  /** The last user message of a chat completion, or the inputs of a classifier. */
  prompt: string;
  json: any;
  /** How often the same body was sent before. */
  repeat: number;
  /** Aborted when the connection is closed or the response has ended. */
  closed: AbortSignal;
}

/** The response of a judge. */
export type JudgeReply =
  /** The content of the message of a chat completion, or the labels of a classifier. */
  | { content: unknown; logprobs?: unknown; finishReason?: string; usage?: object; model?: string }
  /** An arbitrary response. */
  | { status: number; headers?: Record<string, string>; body?: string }
  /** A part of a response, after which the connection is closed. */
  | 'closes'
  /** No response. */
  | 'hangs'
  /** An endless response. */
  | 'floods';

/** Responds with `value: true`, or with the first label of a classifier. */
export const agree = ({ json }: TestJudgeRequest): JudgeReply => ({
  content: json.labels ? firstLabel(json) : '{"reasoning":"so it is","value":true}',
});

const firstLabel = ({ labels }: { labels: string[] }): object[] =>
  labels.map((label, index) => ({ label, score: index === 0 ? 1 : 0 }));

/** An external judge: a real HTTP server with the protocols of OpenAI's chat completions and of classifiers. */
export class TestJudge {
  /** All requests, in order. */
  readonly requests: TestJudgeRequest[] = [];
  /** Maximum number of concurrent requests so far. */
  peak = 0;
  /** Returns the response to a request. By default it agrees. */
  reply: (request: TestJudgeRequest) => JudgeReply | Promise<JudgeReply> = agree;
  private inFlight = 0;
  private readonly seen = new Map<string, number>();

  private constructor(private readonly server: http.Server) {
    server.on('request', (request, response) => void this.take(request, response));
  }

  static async listen(): Promise<TestJudge> {
    const server = http.createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TestJudge(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The environment of a service that uses this judge as an LLM judge and as a classifier. */
  get env(): Record<string, string> {
    return {
      JUDGE_BASE_URL: `http://127.0.0.1:${this.port}/v1`,
      JUDGE_API_KEY: 'sk-of-the-judge',
      JUDGE_MODEL: 'judge-1',
      CLASSIFIER_BASE_URL: `http://127.0.0.1:${this.port}/classify`,
    };
  }

  /** Drops the recorded requests, and restores the default response. */
  reset(): void {
    this.requests.length = 0;
    this.peak = 0;
    this.seen.clear();
    this.reply = agree;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    this.inFlight += 1;
    this.peak = Math.max(this.peak, this.inFlight);
    const closed = new AbortController();
    response.once('close', () => {
      this.inFlight -= 1;
      closed.abort();
    });
    response.on('error', () => undefined);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const json = JSON.parse(body);
    const repeat = this.seen.get(body) ?? 0;
    this.seen.set(body, repeat + 1);
    const userMessages = (json.messages ?? [])
      .filter((one: any) => one.role === 'user')
      .map((one: any) => one.content);
    const received = {
      path: request.url!,
      headers: request.headers,
      body,
      json,
      prompt: userMessages.at(-1) ?? json.inputs,
      repeat,
      closed: closed.signal,
    };
    this.requests.push(received);
    send(response, await this.reply(received), received);
  }
}

function send(response: http.ServerResponse, reply: JudgeReply, { json }: TestJudgeRequest): void {
  if (reply === 'hangs') return;
  if (reply === 'closes') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"choices": [{"message": {"content": "{');
    setTimeout(() => response.destroy(), 20);
    return;
  }
  if (reply === 'floods') {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"choices": [{"message": {"content": "');
    const more = (): void => {
      while (!response.destroyed && response.write('word '.repeat(10_000)));
    };
    response.on('drain', more);
    more();
    return;
  }
  if ('status' in reply) {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(reply.body ?? JSON.stringify({ error: { message: `status ${reply.status}` } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(json.labels ? reply.content : completion(reply, json.model)));
}

function completion(
  {
    content,
    logprobs = null,
    finishReason = 'stop',
    usage,
    model,
  }: Extract<JudgeReply, { content: unknown }>,
  requestedModel: string,
): object {
  const message = { role: 'assistant', content };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: model ?? requestedModel,
    choices: [{ index: 0, message, logprobs, finish_reason: finishReason }],
    usage: usage ?? { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  };
}
