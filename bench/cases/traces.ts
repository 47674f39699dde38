import { gzipSync } from 'node:zlib';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import {
  jsonExport,
  newSpan,
  newTraceId,
  protobufExport,
  SPAN_START,
  type TestAttributes,
  type TestSpan,
} from '../../libs/testing/otlp-export';
import type { Bench } from '../bench';
import { compare, median, timeCalls } from '../measure';

export const PER_CALL = 100;
const PER_TRACE = 25;
export const CALLS = 120;
const SPANS = CALLS * PER_CALL;
const CLIENTS = [1, 4, 16];

/** Attributes of an instrumented model call, about 1 KB of protobuf. */
const ATTRIBUTES = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o',
  'gen_ai.response.model': 'gpt-4o-2024-08-06',
  'gen_ai.request.temperature': 0.2,
  'gen_ai.usage.input_tokens': 1234,
  'gen_ai.usage.output_tokens': 55,
  'gen_ai.conversation.id': 'ses_bench',
  'gen_ai.input.messages': messages('user', 'What is the weather like in Paris today, and "tomorrow"? ', 6),
  'gen_ai.output.messages': messages('assistant', 'It is sunny and 24 degrees. ', 6),
  'server.address': 'api.openai.com',
  'server.port': 443,
};

export function messages(role: string, text: string, times: number): string {
  return JSON.stringify([{ role, parts: [{ type: 'text', content: text.repeat(times) }] }]);
}

/** Returns agent runs of 25 spans each. @param changes attributes to change */
export function spans(changes: TestAttributes = {}): TestSpan[] {
  const attributes = { ...ATTRIBUTES, ...changes };
  return Array.from({ length: PER_CALL / PER_TRACE }, newTraceId).flatMap((traceId) => {
    const root = newSpan({ traceId, name: 'answer', attributes });
    const children = Array.from({ length: PER_TRACE - 1 }, (_, i) => {
      const start = SPAN_START + BigInt(i) * 1_000_000n;
      return newSpan({
        traceId,
        parentSpanId: root.spanId,
        name: 'chat gpt-4o',
        start,
        attributes,
      });
    });
    return [root, ...children];
  });
}

const ENCODINGS = {
  protobuf: { media: 'application/x-protobuf', encode: protobufExport, headers: {} },
  JSON: { media: 'application/json', encode: jsonExport, headers: {} },
  'protobuf with gzip': {
    media: 'application/x-protobuf',
    encode: (sent: TestSpan[]) => gzipSync(protobufExport(sent)),
    headers: { 'Content-Encoding': 'gzip' },
  },
} as const;

export const perSecond = (ms: number): number => (SPANS * 1000) / ms;

/**
 * Reads the rows of as many spans as a round sends, in PostgreSQL's binary COPY format, and creates a table like their
 * partition. The baseline is one COPY of all these rows, without the cost of encoding them.
 */
async function storedRows(
  bench: Bench,
): Promise<{ copy: () => Promise<number>; drop: () => Promise<unknown> }> {
  const { direct } = bench;
  await direct.query('CREATE TABLE bench_spans (LIKE spans INCLUDING ALL)');
  const [columns] = await direct.query<{ names: string }>(
    `SELECT string_agg(attname, ', ') AS names FROM pg_attribute
     WHERE attrelid = 'spans'::regclass AND attnum > 0 AND attgenerated = ''`,
  );
  const { names } = columns!;
  const rows = await direct.copyOut(
    copyTo(`COPY (SELECT ${names} FROM spans ORDER BY trace_no LIMIT ${SPANS}) TO STDOUT (FORMAT binary)`),
  );
  return {
    copy: async () => {
      await direct.query('TRUNCATE bench_spans');
      const statement = copyFrom(`COPY bench_spans (${names}) FROM STDIN (FORMAT binary)`);
      return timeCalls(1, 1, () => direct.copy(statement, rows));
    },
    drop: () => direct.query('DROP TABLE bench_spans'),
  };
}

/** Exports 100 spans per request. The service responds after the commit. The bodies are encoded beforehand. */
export async function exportTraces(bench: Bench): Promise<void> {
  const send = (encoding: keyof typeof ENCODINGS, clients: number) => async () => {
    const { media, encode, headers } = ENCODINGS[encoding];
    const bodies = Array.from({ length: CALLS }, () => encode(spans()));
    return perSecond(
      await timeCalls(CALLS, clients, (call) =>
        bench.http.send('POST', '/telemetry/v1/traces', 200, bodies[call], media, headers),
      ),
    );
  };
  await send('protobuf', 4)();
  const { copy, drop } = await storedRows(bench);
  const sides = (Object.keys(ENCODINGS) as (keyof typeof ENCODINGS)[]).flatMap((encoding) =>
    CLIENTS.map((clients) => ({ name: `${encoding}, ${clients} clients`, measure: send(encoding, clients) })),
  );
  const result = await compare([{ name: 'COPY', measure: async () => perSecond(await copy()) }, ...sides]);
  await drop();
  bench.report(`export traces, ${PER_CALL} spans of 1 KB a call`, 'spans/s', result, [
    'COPY of the same rows',
    ...sides.map(({ name }) => name),
  ]);
}

const READS = 100;

/** Measures the time from the 200 of an export until its trace has been read. The first read always returns it. */
export async function timeToReadable(bench: Bench): Promise<void> {
  const times: number[] = [];
  for (let read = 0; read < READS; read++) {
    const sent = spans();
    await bench.http.send(
      'POST',
      '/telemetry/v1/traces',
      200,
      protobufExport(sent),
      'application/x-protobuf',
    );
    const startedAt = performance.now();
    await bench.http.send('GET', `/telemetry/v1/traces/${sent[0]!.traceId}`, 200);
    times.push(performance.now() - startedAt);
  }
  bench.line(
    `readable after the 200: ${READS} of ${READS} at the first request, whose response took ${median(times).toFixed(1)} ms`,
  );
}
