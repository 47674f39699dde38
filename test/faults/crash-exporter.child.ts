/**
 * A program that sends many spans or log records with the official exporter, in batches, four at a time, even while the
 * server is down. It retries a batch until the server accepts it, but abandons every tenth batch whose first attempt fails.
 * Each record has a number, from 1: the id of the span, or the body of the log record. By these numbers, a test knows which
 * records must be stored.
 *
 * Arguments: `traces` or `logs`, the exporter's configuration as JSON, and the number of records. Prints a line for each
 * batch: `acked` or `abandoned`, the number of its first record, its length, and when sending it began and ended (Unix ms).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { LoggerProvider, type ReadableLogRecord } from '@opentelemetry/sdk-logs';
import { BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base';

const BATCH = 512;
const PER_TRACE = 20;
const AT_ONCE = 4;
const ABANDONED_OF = 10;
const SUCCESS = 0;

/** Creates records one by one, and exports them. */
interface Instrument<Record> {
  record(number: number): Record;
  exporter: { export(records: Record[], done: (result: { code: number }) => void): void };
}

const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0');

const ended = {
  forceFlush: (): Promise<void> => Promise.resolve(),
  shutdown: (): Promise<void> => Promise.resolve(),
};

function spans(config: object): Instrument<ReadableSpan> {
  let traces = 0;
  let numbered = 0;
  let last!: ReadableSpan;
  const provider = new BasicTracerProvider({
    spanProcessors: [{ ...ended, onStart: () => undefined, onEnd: (span) => (last = span) }],
    idGenerator: {
      generateTraceId: () => hex(++traces, 32),
      generateSpanId: () => hex(numbered, 16),
    },
  });
  const tracer = provider.getTracer('crash');
  const agent = { 'gen_ai.operation.name': 'invoke_agent' };
  const call = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 1 };
  let context: Context = ROOT_CONTEXT;
  return {
    exporter: new OTLPTraceExporter(config),
    record: (number) => {
      numbered = number;
      const isRoot = number % PER_TRACE === 1;
      const span = isRoot
        ? tracer.startSpan('agent', { attributes: agent }, ROOT_CONTEXT)
        : tracer.startSpan('call', { attributes: call }, context);
      if (isRoot) context = trace.setSpan(ROOT_CONTEXT, span);
      span.end();
      return last;
    },
  };
}

function logs(config: object): Instrument<ReadableLogRecord> {
  let last!: ReadableLogRecord;
  const provider = new LoggerProvider({
    processors: [{ ...ended, onEmit: (record) => (last = record) }],
  });
  const logger = provider.getLogger('crash');
  return {
    exporter: new OTLPLogExporter(config),
    record: (number) => {
      logger.emit({ body: number });
      return last;
    },
  };
}

async function send<Record>({ record, exporter }: Instrument<Record>, total: number): Promise<void> {
  const exportBatch = (batch: Record[]): Promise<boolean> =>
    new Promise((resolve) => exporter.export(batch, ({ code }) => resolve(code === SUCCESS)));
  let next = 1;
  let failures = 0;
  const worker = async (): Promise<void> => {
    while (next <= total) {
      const first = next;
      next = Math.min(first + BATCH, total + 1);
      const batch = Array.from({ length: next - first }, (_, n) => record(first + n));
      const sentAt = Date.now();
      let isAccepted = await exportBatch(batch);
      const isAbandoned = !isAccepted && ++failures % ABANDONED_OF === 0;
      while (!isAccepted && !isAbandoned) {
        await delay(50);
        isAccepted = await exportBatch(batch);
      }
      const outcome = isAccepted ? 'acked' : 'abandoned';
      process.stdout.write(`${outcome} ${first} ${batch.length} ${sentAt} ${Date.now()}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const [signal, config, total] = process.argv.slice(2);
const options = JSON.parse(config!) as object;
void (signal === 'logs' ? send(logs(options), Number(total)) : send(spans(options), Number(total)));
