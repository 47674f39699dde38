/**
 * A program that sends many spans by the official exporter, in batches, four at a time, whatever becomes of the server.
 * A batch that is not taken is sent again until it is; each tenth of those that were not taken at first is given up
 * instead. Ids are the spans' numbers, from 1, so that whoever reads what is stored knows what should be there.
 *
 * Arguments: the exporter's configuration as JSON, how many spans. Prints a line for each batch: `acked` or `given-up`,
 * the number of its first span, how many it has, and from when to when it was sent, in
 * milliseconds since 1970.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BasicTracerProvider, type ReadableSpan, type SpanProcessor } from '@opentelemetry/sdk-trace-base';

const BATCH = 512;
const PER_TRACE = 20;
const AT_ONCE = 4;
const GIVEN_UP = 10;
const SUCCESS = 0;

const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0');

class Ended implements SpanProcessor {
  readonly spans: ReadableSpan[] = [];
  onStart(): void {
    // nothing is to be done yet
  }
  onEnd(span: ReadableSpan): void {
    this.spans.push(span);
  }
  forceFlush = (): Promise<void> => Promise.resolve();
  shutdown = (): Promise<void> => Promise.resolve();
}

async function main([config, total]: string[]): Promise<void> {
  const exporter = new OTLPTraceExporter(JSON.parse(config!) as object);
  const ended = new Ended();
  let traces = 0;
  let spans = 0;
  const provider = new BasicTracerProvider({
    spanProcessors: [ended],
    idGenerator: {
      generateTraceId: () => hex(++traces, 32),
      generateSpanId: () => hex(++spans, 16),
    },
  });
  const tracer = provider.getTracer('crash');
  let context: Context = ROOT_CONTEXT;

  function nextBatch(): ReadableSpan[] {
    while (ended.spans.length < BATCH && spans < Number(total)) {
      const isRoot = spans % PER_TRACE === 0;
      const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 1 };
      const span = tracer.startSpan('step', { attributes }, isRoot ? ROOT_CONTEXT : context);
      if (isRoot) context = trace.setSpan(ROOT_CONTEXT, span);
      span.end();
    }
    return ended.spans.splice(0, BATCH);
  }

  const send = (batch: ReadableSpan[]): Promise<boolean> =>
    new Promise((resolve) => exporter.export(batch, ({ code }) => resolve((code as number) === SUCCESS)));

  let failures = 0;
  const worker = async (): Promise<void> => {
    for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) {
      const sentAt = Date.now();
      let isTaken = await send(batch);
      const isGivenUp = !isTaken && ++failures % GIVEN_UP === 0;
      while (!isTaken && !isGivenUp) {
        await delay(50);
        isTaken = await send(batch);
      }
      const first = parseInt(batch[0]!.spanContext().spanId, 16);
      const outcome = isTaken ? 'acked' : 'given-up';
      process.stdout.write(`${outcome} ${first} ${batch.length} ${sentAt} ${Date.now()}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

void main(process.argv.slice(2));
