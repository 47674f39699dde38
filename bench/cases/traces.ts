import { gzipSync } from 'node:zlib';
import { decodeTraceRequest } from '#otlp';
import {
  newSpan,
  newTraceId,
  protobufExport,
  SPAN_START,
  type TestSpan,
} from '../../libs/testing/otlp-export';
import { SpanRepository } from '../../src/telemetry/traces/span.repository';
import { TraceWriteRepository } from '../../src/telemetry/traces/trace-write.repository';
import { TraceWriter } from '../../src/telemetry/traces/trace.writer';
import { DayPartitionRepository } from '../../src/telemetry/partitions/day-partition.repository';
import { DayPartitions } from '../../src/telemetry/partitions/day-partitions';
import { ModelPrices } from '../../src/telemetry';
import { Environment } from '#platform/config';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';

const CLIENTS = 4;
const PER_CALL = 100;
const PER_TRACE = 25;
const CALLS = 120;

/** About 1 KB of protobuf: what an instrumented call of a model tells. */
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

function messages(role: string, text: string, times: number): string {
  return JSON.stringify([{ role, parts: [{ type: 'text', content: text.repeat(times) }] }]);
}

/** Agents' runs of 25 spans each. */
function spans(): TestSpan[] {
  return Array.from({ length: PER_CALL / PER_TRACE }, newTraceId).flatMap((traceId) => {
    const root = newSpan({ traceId, name: 'answer', attributes: ATTRIBUTES });
    const below = Array.from({ length: PER_TRACE - 1 }, (_, i) => {
      const start = SPAN_START + BigInt(i) * 1_000_000n;
      return newSpan({
        traceId,
        parentSpanId: root.spanId,
        name: 'chat gpt-4o',
        start,
        attributes: ATTRIBUTES,
      });
    });
    return [root, ...below];
  });
}

/** What stores the spans of exports in the service, without the service. */
function directWriter({ direct: { database } }: Bench): TraceWriter {
  return new TraceWriter(
    database,
    new DayPartitions(new DayPartitionRepository(database)),
    new SpanRepository(database),
    new TraceWriteRepository(),
    new ModelPrices(new Environment()),
  );
}

/** Exports of 100 spans in protobuf, each answered once it is committed; what the clients send is made beforehand. */
export async function exportTraces(bench: Bench): Promise<void> {
  const perSecond = (ms: number): number => (CALLS * PER_CALL * 1000) / ms;
  const exports = (): Buffer[] => Array.from({ length: CALLS }, () => protobufExport(spans()));
  const service = (encode: (body: Buffer) => Buffer, headers: Record<string, string>) => async () => {
    const bodies = exports().map(encode);
    const send = (call: number) =>
      bench.http.send('POST', '/telemetry/v1/traces', 200, bodies[call], 'application/x-protobuf', headers);
    return perSecond(await timeCalls(CALLS, CLIENTS, send));
  };
  const result = await compare([
    {
      name: 'direct',
      measure: async () => {
        const writer = directWriter(bench);
        const batches = exports().map((body) => ({
          scope: bench.scope,
          spans: decodeTraceRequest(body, 'protobuf').spans,
        }));
        return perSecond(await timeCalls(CALLS, CLIENTS, (call) => writer.write([batches[call]!])));
      },
    },
    { name: 'service', measure: service((body) => body, {}) },
    { name: 'service, gzip', measure: service((body) => gzipSync(body), { 'Content-Encoding': 'gzip' }) },
  ]);
  bench.report(`export traces, ${PER_CALL} spans of 1 KB a call, ${CLIENTS} clients`, 'spans/s', result, [
    'direct',
    'service',
    'service with gzip',
  ]);
}
