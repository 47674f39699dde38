/** Hostile providers of models: every organization has an admin who can register one. */
import { once } from 'node:events';
import http, { type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { attack } from './attack';
import type { Attacker } from './attacker';
import { filled, KIB, MIB, newTrace } from './prepared';

type Wire = 'chat' | 'responses' | 'messages';

/** A path of the gateway, and the kind of the provider behind it. */
interface Route {
  kind: 'openai' | 'anthropic';
  path: string;
  /** The format of the provider. */
  wire: Wire;
}

const ROUTES: readonly Route[] = [
  { kind: 'openai', path: '/model/v1/messages', wire: 'chat' },
  { kind: 'openai', path: '/model/v1/chat/completions', wire: 'chat' },
  { kind: 'openai', path: '/model/v1/responses', wire: 'responses' },
  { kind: 'anthropic', path: '/model/v1/messages', wire: 'messages' },
  { kind: 'anthropic', path: '/model/v1/chat/completions', wire: 'messages' },
  { kind: 'anthropic', path: '/model/v1/responses', wire: 'messages' },
];

/** The routes whose streams are translated, so that they need memory. */
const TRANSLATED = ROUTES.filter(({ path, wire }) => !path.includes(wire));

/** Returns an event whose text or arguments are `value`, a JSON text. */
const eventOf = (wire: Wire, value: string): string => {
  switch (wire) {
    case 'chat':
      return `data: {"id":"c","choices":[{"index":0,"delta":{"content":${value}}}]}\n\n`;
    case 'responses':
      return `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":${value}}\n\n`;
    case 'messages':
      return `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":${value}}}\n\n`;
  }
};

/** Returns an event that begins tool calls, or continues them. */
const callsOf = (wire: Wire, indexes: readonly number[], text: string): string => {
  const called = JSON.stringify(text);
  if (wire === 'chat') {
    const calls = indexes.map(
      (index) => `{"index":${index},"id":"c${index}","function":{"name":"f","arguments":${called}}}`,
    );
    return `data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[${calls.join()}]}}]}\n\n`;
  }
  return indexes
    .map((index) =>
      wire === 'messages'
        ? `data: {"type":"content_block_start","index":${index},"content_block":{"type":"tool_use","id":"c${index}","name":"f"}}\n\n` +
          `data: {"type":"content_block_delta","index":${index},"delta":{"type":"input_json_delta","partial_json":${called}}}\n\n`
        : `data: {"type":"response.function_call_arguments.delta","item_id":"c${index}","delta":${called}}\n\n`,
    )
    .join('');
};

type Answer = (response: ServerResponse, wire: Wire) => Promise<unknown>;

/** A provider in the attacker's process. */
class HostileProvider {
  private constructor(
    private readonly attacker: Attacker,
    private readonly server: http.Server,
  ) {}

  static async start(
    attacker: Attacker,
    answer: Answer,
    type = 'text/event-stream',
  ): Promise<HostileProvider> {
    const server = http.createServer((request, response) => {
      response.on('error', () => undefined);
      const path = request.url!;
      const wire = path.endsWith('/messages')
        ? 'messages'
        : path.endsWith('/responses')
          ? 'responses'
          : 'chat';
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': type });
        response.flushHeaders();
        answer(response, wire).catch(() => response.destroy());
      });
    });
    return HostileProvider.listen(attacker, server);
  }

  static async listen(attacker: Attacker, server: http.Server): Promise<HostileProvider> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HostileProvider(attacker, server);
  }

  /** Creates a model of the gateway with this provider, and returns its id. */
  async model(kind: Route['kind'], members: object = {}): Promise<string> {
    const { workspaceId: workspace_id } = this.attacker.target;
    const name = `hostile-${process.hrtime.bigint()}`;
    const { port } = this.server.address() as AddressInfo;
    const base_url = `http://127.0.0.1:${port}`;
    const { provider_id } = await this.attacker.prepare('POST', '/model/v1/providers', {
      ...{ workspace_id, name, kind, base_url, api_key: 'secret' },
    });
    const targets = [{ provider_id, upstream_model: 'm' }];
    const model = { workspace_id, name, targets, retries: 0, ...members };
    return (await this.attacker.prepare('POST', '/model/v1/models', model)).model_id;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Writes with backpressure. Throws once the connection is closed. */
async function write(response: Writable, bytes: Buffer | string): Promise<void> {
  if (response.destroyed) throw new Error('closed');
  if (response.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

const CALL = { stream: true, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], input: 'Hi' };

interface StreamSize {
  /** Streams in all. */
  streams: number;
  /** Milliseconds after which the caller leaves. */
  ms: number;
}

/** Opens streams on some routes at once, reads them, and leaves after a while. */
async function openStreams(
  attacker: Attacker,
  { streams, ms }: StreamSize,
  answer: Answer,
  { routes = ROUTES, model = {} }: { routes?: readonly Route[]; model?: object } = {},
): Promise<void> {
  const provider = await HostileProvider.start(attacker, answer);
  try {
    const models: Record<string, string> = {};
    for (const { kind } of routes) models[kind] ??= await provider.model(kind, model);
    const open = async (n: number): Promise<void> => {
      const { kind, path } = routes[n % routes.length]!;
      const { messages, input, ...rest } = CALL;
      const own = path.endsWith('/responses') ? { input } : { messages };
      const { max_tokens, ...more } = rest;
      const limit = path.endsWith('/responses') ? {} : { max_tokens };
      const body = JSON.stringify({ model: models[kind], ...more, ...own, ...limit });
      await attacker.send('POST', path, {
        headers: { 'content-type': 'application/json' },
        write: (request) => {
          request.end(body);
          setTimeout(() => request.destroy(), ms);
        },
      });
    };
    const opened: Promise<void>[] = [];
    for (let n = 0; n < streams; n++) {
      opened.push(open(n));
      if (n % 10 === 9) await delay(20);
    }
    await Promise.all(opened);
  } finally {
    provider.close();
  }
}

/** Writes the same bytes again and again, with a pause, because a provider can always send more than a machine can pass on. */
const forever = async (response: Writable, part: string | Buffer, pauseMs: number): Promise<never> => {
  for (;;) {
    await write(response, part);
    await delay(pauseMs);
  }
};

export const waitingCalls = attack({
  name: 'waiting-calls',
  title: 'streams whose first tool call never ends, so that the second one waits',
  sizes: {
    test: { streams: 480, mib: 30, ms: 10_000 },
    bench: { streams: 480, mib: 30, ms: 20_000 },
  },
  run: (attacker, { streams, mib, ms }) =>
    openStreams(
      attacker,
      { streams, ms },
      async (response, wire) => {
        await write(response, callsOf(wire, [0], '{"a":"'));
        const part = callsOf(wire, [1], 'x'.repeat(128 * KIB));
        for (let sent = 0; sent < mib * MIB; sent += 128 * KIB) await write(response, part);
        await once(response, 'close');
      },
      { routes: TRANSLATED },
    ),
});

export const endlessCalls = attack({
  name: 'endless-calls',
  title: 'streams with endless arguments of one tool call, or endless tool calls',
  sizes: {
    test: { streams: 24, ms: 2_500 },
    bench: { streams: 24, ms: 8_000 },
  },
  async run(attacker, size) {
    await openStreams(attacker, size, async (response, wire) => {
      await write(response, callsOf(wire, [0], '{"a":"'));
      return forever(response, callsOf(wire, [0], 'x'.repeat(8 * KIB)), 1);
    });
    await openStreams(attacker, size, async (response, wire) => {
      for (let first = 0; ; first += 100) {
        const indexes = Array.from({ length: 100 }, (_, n) => first + n);
        await write(response, callsOf(wire, indexes, '{}'));
        await delay(1);
      }
    });
  },
});

/** Valid JSON texts that are slow to parse for their size. */
const COSTLY: readonly ((bytes: number) => string)[] = [
  (bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  (bytes) => filled(bytes, '[', (n) => `{"${n.toString(36).padStart(5, 'x')}":1},`, ']').toString(),
  (bytes) => filled(bytes, '{', (n) => `"${n.toString(36).padStart(5, 'x')}":1,`, '}').toString(),
];

export const costlyEvents = attack({
  name: 'costly-events',
  title: 'streams of events that are slow to parse for their size',
  sizes: {
    test: { streams: 128, bytes: 254 * KIB, ms: 3_000 },
    bench: { streams: 128, bytes: 254 * KIB, ms: 6_000 },
  },
  run(attacker, { streams, bytes, ms }) {
    const values = COSTLY.map((costly) => costly(bytes));
    let n = 0;
    return openStreams(attacker, { streams, ms }, (response, wire) =>
      forever(response, eventOf(wire, values[n++ % values.length]!), 1_000),
    );
  },
});

/** Bytes of costly JSON that is admitted in a request, apart from deep lists. */
const ADMITTED = 280 * KIB;

export const costlyRequests = attack({
  name: 'costly-requests',
  title: 'requests to models that are slow to parse for their size',
  sizes: {
    test: { connections: 64, bytes: 4 * MIB - KIB, ms: 3_000 },
    bench: { connections: 64, bytes: 4 * MIB - KIB, ms: 10_000 },
  },
  async run(attacker, { connections, bytes, ms }) {
    // in a member that providers do not know
    const values = COSTLY.flatMap((costly) => [costly(bytes), costly(ADMITTED)]);
    const paths = [...new Set(ROUTES.map(({ path }) => path)), '/model/v1/messages/count_tokens'];
    const until = Date.now() + ms;
    const send = async (_: unknown, n: number): Promise<void> => {
      const body = `{"model":"unknown","messages":[],"x":${values[n % values.length]}}`;
      while (Date.now() < until) await attacker.send('POST', paths[n % paths.length]!, { body });
    };
    await Promise.all(Array.from({ length: connections }, send));
  },
});

export const keptRequests = attack({
  name: 'kept-requests',
  title: 'streams that repeat large requests, of a provider that is silent after its headers',
  sizes: {
    test: { streams: 64, large: 4 * MIB - KIB, ms: 6_000 },
    bench: { streams: 128, large: 4 * MIB - KIB, ms: 20_000 },
  },
  async run(attacker, { streams, large, ms }) {
    const provider = await HostileProvider.start(attacker, (response) => once(response, 'close'));
    try {
      const model = await provider.model('anthropic');
      const repeated = [`"metadata":${COSTLY[2]!(ADMITTED)}`, `"instructions":"${'x'.repeat(large)}"`];
      const open = async (_: unknown, n: number): Promise<void> => {
        await delay(n * 20);
        const body = `{"model":"${model}","stream":true,"input":"Hi",${repeated[n % repeated.length]}}`;
        await attacker.send('POST', '/model/v1/responses', {
          headers: { 'content-type': 'application/json' },
          write: (request) => {
            request.end(body);
            setTimeout(() => request.destroy(), ms);
          },
        });
      };
      await Promise.all(Array.from({ length: streams }, open));
    } finally {
      provider.close();
    }
  },
});

export const hugeEvents = attack({
  name: 'huge-events',
  title: 'streams of events of many MiB',
  sizes: {
    test: { streams: 32, bytes: 8 * MIB, perSecond: 40 * MIB, ms: 5_000 },
    bench: { streams: 32, bytes: 8 * MIB, perSecond: 20 * MIB, ms: 15_000 },
  },
  run(attacker, { streams, bytes, perSecond, ms }) {
    const values = [...COSTLY.map((costly) => costly(bytes)), JSON.stringify('x'.repeat(bytes))];
    let n = 0;
    return openStreams(attacker, { streams, ms }, async (response, wire) => {
      const event = Buffer.from(eventOf(wire, values[n++ % values.length]!));
      const part = 64 * KIB;
      for (;;) {
        for (let at = 0; at < event.length; at += part) {
          await write(response, event.subarray(at, at + part));
          await delay((part * streams * 1000) / perSecond);
        }
      }
    });
  },
});

export const endlessEvents = attack({
  name: 'endless-events',
  title: 'streams of one endless event, of comments, or of empty events',
  sizes: {
    test: { streams: 48, ms: 2_500 },
    bench: { streams: 48, ms: 6_000 },
  },
  run(attacker, size) {
    const parts = [
      'data: '.padEnd(64 * KIB, 'x'),
      ': nothing to see\n\n'.repeat(4 * KIB),
      '\n'.repeat(64 * KIB),
      'data: {}\n\n'.repeat(6 * KIB),
      'event: ping\ndata: {"type":"ping"}\n\n'.repeat(2 * KIB),
    ];
    let n = 0;
    return openStreams(attacker, size, async (response, wire) => {
      const part = parts[n++ % parts.length]!;
      if (n % 2 === 0) await write(response, eventOf(wire, '"Hi"'));
      return forever(response, part, 100);
    });
  },
});

export const silentProviders = attack({
  name: 'silent-providers',
  title: 'streams that are silent after their headers, or send one byte a second',
  sizes: {
    test: { streams: 480, ms: 4_000 },
    bench: { streams: 480, ms: 12_000 },
  },
  run(attacker, size) {
    let n = 0;
    return openStreams(
      attacker,
      size,
      async (response) => {
        if (n++ % 2 === 0) return once(response, 'close');
        for (;;) {
          await write(response, 'd');
          await delay(1_000);
        }
      },
      { model: { timeout_ms: 2_000 } },
    );
  },
});

export const largeAnswers = attack({
  name: 'large-answers',
  title: 'answers of a model that are slow to parse, or have tens of MiB',
  sizes: {
    test: { calls: 24, bytes: 60 * MIB },
    bench: { calls: 24, bytes: 60 * MIB },
  },
  async run(attacker, { calls, bytes }) {
    const sizes = [254 * KIB, 4 * MIB - KIB, bytes];
    const values = sizes.map((size, at) => COSTLY[at]!(size));
    let n = 0;
    const provider = await HostileProvider.start(
      attacker,
      (response, wire) => {
        const value = values[n++ % values.length]!;
        const members = { chat: 'choices', messages: 'content', responses: 'output' };
        response.end(`{"${members[wire]}":[${value}],"usage":{"total_tokens":1}}`);
        return Promise.resolve();
      },
      'application/json',
    );
    try {
      const models = { openai: await provider.model('openai'), anthropic: await provider.model('anthropic') };
      const messages = [{ role: 'user', content: 'Hi' }];
      const send = (_: unknown, call: number) => {
        const { kind, path } = ROUTES[call % ROUTES.length]!;
        const own = path.endsWith('/responses') ? { input: 'Hi' } : { messages, max_tokens: 9 };
        return attacker.send('POST', path, { body: JSON.stringify({ model: models[kind], ...own }) });
      };
      await Promise.all(Array.from({ length: calls }, send));
    } finally {
      provider.close();
    }
  },
});

export const largeJudgements = attack({
  name: 'large-judgements',
  title: 'a judge on a model of the gateway that answers with tens of MiB',
  sizes: {
    test: { targets: 100, bytes: 120 * MIB, ms: 5_000 },
    bench: { targets: 100, bytes: 120 * MIB, ms: 15_000 },
  },
  async run(attacker, { targets, bytes, ms }) {
    const part = Buffer.alloc(64 * KIB, 'x');
    const provider = await HostileProvider.start(
      attacker,
      async (response) => {
        await write(response, '{"choices":[{"message":{"role":"assistant","content":"');
        for (let sent = 0; sent < bytes; sent += part.length) await write(response, part);
        response.end('"}}]}');
      },
      'application/json',
    );
    try {
      const model = await provider.model('openai');
      const { name } = await attacker.prepare('GET', `/model/v1/models/${model}`);
      const { workspaceId: workspace_id } = attacker.target;
      const output = { type: 'boolean' };
      const definition = { backend: 'llm', model: `gateway:${name}`, prompt: 'Rate {{output}}', output };
      const { scorer_id } = await attacker.prepare('POST', '/eval/v1/scorers', {
        ...{ workspace_id, name, scorer_kind: 'llm_judge', definition },
      });
      const trace_ids: string[] = [];
      for (let n = 0; n < targets; n++) trace_ids.push(await newTrace(attacker));
      const body = JSON.stringify({ trace_ids });
      await attacker.send('POST', `/eval/v1/scorers/${scorer_id}/score`, { body });
      await delay(ms);
    } finally {
      provider.close();
    }
  },
});

/** Bytes that are slow to parse as HTTP for their size: chunks of one byte, chunk extensions, and informational responses. */
const FRAMINGS: readonly string[] = [
  '1\r\n \r\n'.repeat(10_000),
  `1;${'x'.repeat(60_000)}\r\n \r\n`,
  `${(64 * KIB).toString(16)}\r\n${' '.repeat(64 * KIB)}\r\n`,
];
const INFORMATIONAL = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(3_000);

export const costlyFraming = attack({
  name: 'costly-framing',
  title:
    'answers in chunks of one byte, with chunk extensions, after endless informational responses, or with endless blanks',
  sizes: {
    test: { calls: 200, ms: 5_000 },
    bench: { calls: 200, ms: 10_000 },
  },
  async run(attacker, { calls, ms }) {
    let n = 0;
    const server = http.createServer((request, response) => {
      const { socket } = response;
      const isInformational = n % 4 === 3;
      const part = isInformational ? INFORMATIONAL : FRAMINGS[n % 4]!;
      const type = n++ % 8 < 4 ? 'application/json' : 'text/event-stream';
      request.resume().on('end', () => {
        if (!isInformational)
          socket!.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`);
        forever(socket!, part, 5).catch(() => undefined);
      });
    });
    const provider = await HostileProvider.listen(attacker, server);
    try {
      const model = await provider.model('openai');
      const { input: _, ...call } = CALL;
      const send = (_call: unknown, at: number) =>
        attacker.send('POST', '/model/v1/chat/completions', {
          headers: { 'content-type': 'application/json' },
          write: (request) => {
            request.end(JSON.stringify({ model, ...call, stream: at % 8 >= 4 }));
            setTimeout(() => request.destroy(), ms);
          },
        });
      await Promise.all(Array.from({ length: calls }, send));
    } finally {
      provider.close();
    }
  },
});

export const brokenAnswers = attack({
  name: 'broken-answers',
  title: 'answers whose connection is reset while their callers do not read',
  sizes: {
    test: { calls: 200 },
    bench: { calls: 200 },
  },
  async run(attacker, { calls }) {
    const event = eventOf('chat', JSON.stringify('x'.repeat(KIB)));
    let n = 0;
    const server = http.createServer((request, response) => {
      const socket = response.socket!;
      const events = 60 + 8 * (n++ % 60);
      request.resume().on('end', () => {
        socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n');
        void (async () => {
          for (let sent = 0; sent < events && !socket.destroyed; sent += 10) {
            socket.write(event.repeat(10));
            await delay(2);
          }
          await delay(300);
          socket.resetAndDestroy();
        })();
      });
    });
    const provider = await HostileProvider.listen(attacker, server);
    try {
      const model = await provider.model('openai');
      const { input: _, ...call } = CALL;
      const body = JSON.stringify({ model, ...call });
      const head = Object.entries({
        ...attacker.headers,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
      }).map(([name, value]) => `${name}: ${value}\r\n`);
      const bytes = `POST /model/v1/chat/completions HTTP/1.1\r\n${head.join('')}\r\n${body}`;
      await attacker.hold(calls, 2_000, () => attacker.connect(bytes, { reads: false }));
    } finally {
      provider.close();
    }
  },
});
