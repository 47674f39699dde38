import { type ElementCounter, MAX_ELEMENTS, tooManyElements } from './element.counter';
import { hasMoreElements, parseExactly } from './exact-json';
import { type JsonObject, JsonValueReader } from './json-value.reader';
import { OtlpDecodeError } from './otlp.types';
import type { OtlpResource, OtlpScope } from './otlp.types';
import type { RecordCollector } from './record.collector';
import type { OtlpSignal } from './response.encoder';
import { ENVELOPE_NAMES, type EnvelopeLevel, type EnvelopeNames, misdirected, SIGNALS } from './signal.names';

/** Reads one record: a span, a log record or a metric. The caller takes the fault. */
type RecordReader<Item> = (
  values: JsonValueReader,
  sent: unknown,
  resource: OtlpResource,
  scope: OtlpScope,
) => Item;

/**
 * Reads an export request in JSON. Handles everything that the requests for traces, logs and metrics share: all but the
 * innermost records. Bytes that are not UTF-8 become U+FFFD. V8's parser does not recurse, so nesting is limited only when
 * values are read.
 */
export abstract class JsonEnvelopeReader {
  protected readonly values: JsonValueReader;
  private readonly names: EnvelopeNames;

  constructor(
    private readonly bytes: Buffer,
    private readonly signal: OtlpSignal,
    private readonly counter: ElementCounter,
  ) {
    this.names = ENVELOPE_NAMES[signal];
    this.values = new JsonValueReader(bytes, counter);
  }

  /**
   * Reads the request at once. Call it in a worker thread if the body is large.
   *
   * @throws OtlpDecodeError if the body as a whole is unreadable
   */
  read(): void {
    const { values, names, counter } = this;
    const request = this.requireValid(values.element(parse(this.bytes), 'the request'));
    this.warnOfUnknown(request);
    for (const one of this.list(request, 'resources')) {
      const resourceGroup = this.requireValid(values.element(one, names.resources[0]));
      counter.countRecord();
      const resource = this.requireValid(this.resource(resourceGroup));
      for (const other of this.list(resourceGroup, 'scopes')) {
        const scopeGroup = this.requireValid(values.element(other, names.scopes[0]));
        counter.countRecord();
        const scope = this.requireValid(this.scope(scopeGroup));
        for (const item of this.list(scopeGroup, 'items')) {
          counter.countRecord();
          counter.startRecord();
          this.item(item, resource, scope);
        }
      }
    }
  }

  /** Reads and collects one record: a span, a log record or a metric. */
  protected abstract item(sent: unknown, resource: OtlpResource, scope: OtlpScope): void;

  private list(source: JsonObject, level: EnvelopeLevel): readonly unknown[] {
    const [name, original] = this.names[level];
    const list = source[name] ?? source[original];
    if (list === undefined) this.checkSignal(source, level);
    return this.requireValid(this.values.list(list, name));
  }

  /** Throws if an object has the list of another signal. */
  private checkSignal(source: JsonObject, level: EnvelopeLevel): void {
    const other = SIGNALS.find(
      (one) => one !== this.signal && ENVELOPE_NAMES[one][level].some((name) => name in source),
    );
    if (other !== undefined) throw new OtlpDecodeError(misdirected(other, this.signal));
  }

  /** Warns of a request that has only unknown members, which OTLP ignores. */
  private warnOfUnknown(request: JsonObject): void {
    const { resources } = this.names;
    if (Object.keys(request).length === 0 || resources.some((name) => name in request)) return;
    this.counter.warn(`The request has no ${resources[0]}, so nothing was stored.`);
  }

  /** Returns a part that records share. Throws if it has a fault, because the whole request is then invalid. */
  private requireValid<T>(part: T): T {
    const fault = this.values.takeFault();
    if (fault !== undefined) throw new OtlpDecodeError(`The body is not an ${this.names.request}: ${fault}.`);
    return part;
  }

  private resource(source: JsonObject): OtlpResource {
    const { values } = this;
    this.counter.startRecord();
    const resource = values.object(source.resource, 'resource');
    return {
      ...values.attributesOf(resource),
      schemaUrl: values.text(source.schemaUrl ?? source.schema_url, 'schemaUrl'),
    };
  }

  private scope(source: JsonObject): OtlpScope {
    const { values } = this;
    this.counter.startRecord();
    const scope = values.object(source.scope, 'scope');
    return {
      name: values.text(scope.name, 'name'),
      version: values.text(scope.version, 'version'),
      ...values.attributesOf(scope),
      schemaUrl: values.text(source.schemaUrl ?? source.schema_url, 'schemaUrl'),
    };
  }
}

/** Reads a request whose records are collected as they are. */
export class JsonRecordReader<Item> extends JsonEnvelopeReader {
  constructor(
    bytes: Buffer,
    signal: OtlpSignal,
    private readonly records: RecordCollector<Item>,
    private readonly readRecord: RecordReader<Item>,
  ) {
    super(bytes, signal, records);
  }

  protected override item(sent: unknown, resource: OtlpResource, scope: OtlpScope): void {
    const record = this.readRecord(this.values, sent, resource, scope);
    this.records.collect(record, this.values.takeFault());
  }
}

function parse(bytes: Buffer): unknown {
  // V8 takes up to 100 bytes for each element. If a parse exceeds the heap of its thread, V8 ends the whole process.
  if (hasMoreElements(bytes, MAX_ELEMENTS)) throw tooManyElements();
  try {
    return parseExactly(bytes.toString('utf8'));
  } catch (error) {
    // V8's message may quote the body, so only the position is passed on.
    const position = error instanceof Error ? /at position \d+/.exec(error.message)?.[0] : undefined;
    throw new OtlpDecodeError(`The body is not valid JSON${position ? ` (${position})` : ''}.`);
  }
}
