import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { decodeTraceRequest } from '../../../libs/otlp/decode.fixture';
import type { OtlpSpan } from '#otlp';
import { ApiClient, type TestApp } from '#testing';

/** Milliseconds between exports, short for tests. */
export const EXPORT_EVERY = 50;

/** A received export. */
export interface RecordedExport {
  url: string;
  headers: http.IncomingHttpHeaders;
  /** The decompressed body. */
  body: Buffer;
  spans: OtlpSpan[];
}

/** An OTLP/HTTP endpoint that records exports. */
export class TraceEndpoint {
  readonly exports: RecordedExport[] = [];
  /** The status of its responses. It does not respond while a promise is pending. */
  status: number | Promise<number> = 200;
  /** The server to which it forwards exports, and whose status it returns. */
  target: string | null = null;

  private constructor(
    private readonly server: http.Server,
    readonly url: string,
  ) {}

  static async listen(): Promise<TraceEndpoint> {
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const endpoint = new TraceEndpoint(server, `http://127.0.0.1:${port}`);
    server.on('request', (request, response) => void endpoint.receive(request, response));
    return endpoint;
  }

  get spans(): OtlpSpan[] {
    return this.exports.flatMap(({ spans }) => spans);
  }

  /** Waits until `count` matching spans have arrived. */
  async received(isMatch: (span: OtlpSpan) => boolean, count = 1): Promise<OtlpSpan[]> {
    for (;;) {
      const spans = this.spans.filter(isMatch);
      if (spans.length >= count) return spans;
      await sleep(10);
    }
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async receive(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const sent = Buffer.concat(await request.toArray());
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    const encoding = request.headers['content-type'] === 'application/json' ? 'json' : 'protobuf';
    const { spans } = decodeTraceRequest(body, encoding);
    this.exports.push({ url: request.url!, headers: request.headers, body, spans });
    const status = this.target === null ? await this.status : await this.forward(request, sent);
    response.writeHead(status, { 'content-type': request.headers['content-type'] }).end();
  }

  private async forward({ headers, url }: http.IncomingMessage, body: Buffer): Promise<number> {
    const names = ['authorization', 'x-service-workspace-id', 'content-type', 'content-encoding'];
    const forwarded = names.flatMap((name): [string, string][] => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    });
    const response = await fetch(`${this.target}${url}`, { method: 'POST', headers: forwarded, body });
    await response.arrayBuffer();
    return response.status;
  }
}

/** A line of a process's log. */
export type LogLine = Record<string, unknown>;

/** A process of the service, as an operator starts it. */
export class ServiceProcess {
  private output = '';
  /** The text that it wrote to standard error. */
  errors = '';

  private constructor(private readonly child: ChildProcess) {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
  }

  /** Starts the API or a worker with the database of an application, and waits until it runs. */
  static async start(
    entry: 'main' | 'worker',
    app: TestApp,
    env: Record<string, string> = {},
  ): Promise<ServiceProcess> {
    const child = spawn(process.execPath, [path.resolve(`dist/src/${entry}.js`)], {
      env: { PATH: process.env.PATH, ...app.env, LOG_LEVEL: 'info', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = new ServiceProcess(child);
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`${entry} ended with ${String(code)}: ${started.output}${started.errors}`);
    });
    const sign = entry === 'main' ? 'the API is listening' : 'the worker is running';
    await Promise.race([started.line(({ msg }) => msg === sign), ended]);
    ended.catch(() => undefined);
    return started;
  }

  /** The URL of the API. */
  get url(): string {
    return String(this.lines.find(({ msg }) => msg === 'the API is listening')?.url);
  }

  /** Returns a client of the API within a workspace. */
  caller(token: string, workspaceId: string): ApiClient {
    return new ApiClient(this.url, token).in(workspaceId);
  }

  get lines(): LogLine[] {
    return this.output
      .slice(0, this.output.lastIndexOf('\n') + 1)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as LogLine);
  }

  /** Waits for a line of the log. */
  async line(isMatch: (line: LogLine) => boolean): Promise<LogLine> {
    for (;;) {
      const line = this.lines.find(isMatch);
      if (line) return line;
      await sleep(10);
    }
  }

  /** Stops the process with SIGTERM. @returns the exit code */
  stop(): Promise<number | null> {
    return this.end('SIGTERM');
  }

  kill(): Promise<number | null> {
    return this.end('SIGKILL');
  }

  private async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = once(this.child, 'close');
      this.child.kill(signal);
      await ended;
    }
    return this.child.exitCode;
  }
}

/** Returns environment variables with which a process sends its traces to an endpoint. */
export const tracedTo = (
  { url }: TraceEndpoint,
  env: Record<string, string> = {},
): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_BSP_SCHEDULE_DELAY: String(EXPORT_EVERY),
  ...env,
});
