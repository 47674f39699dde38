import { Injectable } from '@nestjs/common';
import {
  OtlpDecodeError,
  type OtlpLimits,
  type OtlpRejection,
  type OtlpResource,
  type OtlpScope,
  type PackedRequest,
  type RequestDecoder,
} from '#otlp';
import type { Scope } from '#platform/auth';
import { FairLimiter, Batcher, inSlices } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { isLockTimeout, Problem, problem, problemOfDatabaseError } from '#platform/problem';
import type { RefusalReason, RefusedCounts } from '../deletion/refusals';
import { WorkspaceMasking } from '../../registry';
import { RecordMasker } from '../masking/record-masker';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import { ExportMetrics, type Signal } from './export.metrics';
import { JsonReader } from './json-reader';

/** Maximum weight of a group: about two thousand spans of a KiB. A group is written at once, and the next one waits for it. */
const GROUP_BYTES = 4 * 1024 * 1024;

/** Minimum weight of a record, however few bytes it has, because a single span may be a trace with its own row. */
const RECORD_BYTES = 1024;

/**
 * Limit of the parts of an export that are sent once and stored repeatedly, in characters of JSON. A resource is stored for
 * each of its scopes, and a metric for each of its points. Without a limit, a few compressed bytes could expand to
 * gigabytes. Exporters send a few kilobytes.
 */
const REPEATED_MAX = 16 * 1024 * 1024;

/** Size in bytes above which JSON bodies are decoded in a worker thread. Smaller ones take a few milliseconds. */
const JSON_AT_ONCE_BYTES = 256 * 1024;

/**
 * Size in bytes above which bodies are stored alone. A batch of 512 spans has about half of this size. A body of 16 MiB may
 * take seconds, and no other export should wait for it in the same transaction.
 */
const GROUPED_BYTES = 1024 * 1024;

/** Share of a process's connections for storing groups. Large exports get the same share. */
const CONNECTION_SHARE = 1 / 4;

/** The records of each signal, in reasons. */
const NOUNS: Record<Signal, string> = { traces: 'span', logs: 'log record', metrics: 'data point' };

/** Why records were refused, in the order in which a response says so. */
const REFUSALS: readonly (readonly [RefusalReason, string])[] = [
  ['deleted_workspace', 'the workspace was deleted.'],
  ['deleted_trace', 'the trace was deleted.'],
  ['erased_user', 'the user was erased later.'],
];

/** Owners in the limiter. */
const GROUPS = 'telemetry groups';
const LARGE = 'large exports';

/** The members that decoded requests of all signals have in addition to their records. */
interface DecodedRequest {
  rejected: OtlpRejection;
  /** Includes parts of records, such as events. */
  recordCount: number;
}

/** A received export. */
interface ReceivedExport {
  scope: Scope;
  body: OtlpBody;
  /** The request, if a worker thread has decoded it. Cleared when it is unpacked, to free its memory. */
  packed: PackedRequest | undefined;
  /** Masks the records; null if the workspace has no rules. */
  masker: RecordMasker | null;
}

/** A decoded export. */
interface DecodedExport<Ready> extends ReceivedExport {
  ready: Ready;
  rejected: OtlpRejection;
  /** Size in bytes as stored. */
  weight: number;
}

export interface ExportRules<Request extends DecodedRequest, Ready> {
  signal: Signal;
  decoder: Pick<RequestDecoder<never, Request>, 'steps' | 'unpack'>;
  /** Masks the records of an export in place, in steps. */
  mask(masker: RecordMasker, request: Request): Generator<void, void>;
  /** Adds the parts of an export that are stored more often than sent, in steps. */
  addRepeated(repeated: RepeatedBytes, request: Request): Generator<void, void>;
  /** Returns, in steps, the warnings of the response about records that are stored nevertheless. */
  warnings?(request: Request, scope: Scope): Generator<void, string[]>;
  /** Returns, in steps, the form in which a request waits for its group to be stored. */
  prepare(request: Request, sent: ReceivedExport): Generator<void, Ready>;
  /**
   * Stores all exports or none. When it returns, they are committed.
   *
   * @returns the refused records of each export, in their order; undefined for none
   */
  store(exports: readonly DecodedExport<Ready>[]): Promise<readonly RefusedCounts[] | undefined>;
}

/**
 * Limits how many exports of traces, logs and metrics are stored at once, so that a flood of exports leaves most
 * connections to readers and to all other areas. Groups and large exports each get all slots but one, so that large exports
 * of one organization never take the last slot from the others' small ones.
 */
@Injectable()
export class ExportLimiter extends FairLimiter {
  constructor({ DATABASE_POOL_SIZE }: Environment) {
    const share = Math.max(1, Math.floor(DATABASE_POOL_SIZE * CONNECTION_SHARE));
    super({ concurrency: share + 1, share });
  }
}

/** The resources that the queues of all signals share. */
@Injectable()
export class ExportResources {
  constructor(
    readonly metrics: ExportMetrics,
    readonly limiter: ExportLimiter,
    readonly jsonReader: JsonReader,
    readonly masking: WorkspaceMasking,
    private readonly environment: Environment,
  ) {}

  get limits(): OtlpLimits {
    const { SPAN_ATTRIBUTE_LIMIT, SPAN_EVENT_LIMIT, SPAN_LINK_LIMIT } = this.environment;
    return { attributes: SPAN_ATTRIBUTE_LIMIT, events: SPAN_EVENT_LIMIT, links: SPAN_LINK_LIMIT };
  }
}

/** Queues the exports of one signal. Stores small exports in groups, and large ones alone. */
export class ExportQueue<Request extends DecodedRequest, Ready> {
  private readonly groups: Batcher<ReceivedExport, OtlpRejection, DecodedExport<Ready>>;

  constructor(
    private readonly resources: ExportResources,
    private readonly rules: ExportRules<Request, Ready>,
  ) {
    this.groups = new Batcher({
      shared: { limiter: resources.limiter, owner: GROUPS },
      // decoded as late as possible, because an undecoded export takes a fifth of the memory
      prepare: (sent) => this.decode(sent),
      max: GROUP_BYTES,
      weightOf: ({ weight }) => weight,
      run: (exports) => this.write(exports),
      // a lock timeout may concern only one export, and the others can be stored
      isOfOneItem: (error) => !(error instanceof Problem && error.status === 503) || isLockTimeout(error),
    });
  }

  /**
   * Stores an export. When it returns, the export is committed. Errors: 400 for a body that cannot be decoded (nothing of
   * it is stored); 503 if the database is unavailable or too slow.
   *
   * @param signal aborts waiting for a turn; an export that is already being written is stored
   * @returns the invalid records, which are not stored, and the parts that were dropped from the others
   */
  export(scope: Scope, body: OtlpBody, signal: AbortSignal): Promise<OtlpRejection> {
    return this.resources.metrics.count(this.rules.signal, this.storeExport(scope, body, signal));
  }

  private async storeExport(scope: Scope, body: OtlpBody, signal: AbortSignal): Promise<OtlpRejection> {
    const { limiter, limits, jsonReader, masking } = this.resources;
    const rules = await masking.start(scope);
    const { bytes, encoding } = body;
    const isForThread = encoding === 'json' && bytes.length > JSON_AT_ONCE_BYTES;
    const sent: ReceivedExport = {
      scope,
      body,
      packed: isForThread
        ? await convertDecodeErrors(
            jsonReader.read(scope, signal, { signal: this.rules.signal, bytes, limits }),
          )
        : undefined,
      masker: rules && new RecordMasker(rules),
    };
    if (bytes.length <= GROUPED_BYTES) {
      return this.groups.add([scope.orgId, scope.workspaceId], sent, signal);
    }
    return limiter.run({ orgId: LARGE, workspaceId: scope.orgId }, signal, async () => {
      const decoded = await this.decode(sent);
      signal.throwIfAborted();
      return (await this.write([decoded]))[0]!;
    });
  }

  private async write(exports: readonly DecodedExport<Ready>[]): Promise<OtlpRejection[]> {
    const { metrics } = this.resources;
    const { signal } = this.rules;
    try {
      const refused = await metrics.observe(signal, () => this.rules.store(exports));
      return exports.map(({ rejected }, index) => this.addRefused(rejected, refused?.[index]));
    } catch (error) {
      throw storeProblem(error);
    }
  }

  private addRefused(rejected: OtlpRejection, refused: RefusedCounts = {}): OtlpRejection {
    const { signal } = this.rules;
    this.resources.metrics.countRefused(signal, refused);
    const reasons = [...rejected.reasons];
    let { count } = rejected;
    for (const [reason, sentence] of REFUSALS) {
      const number = refused[reason] ?? 0;
      if (number === 0) continue;
      count += number;
      reasons.push(`${number} ${NOUNS[signal]}${number === 1 ? ' was' : 's were'} refused: ${sentence}`);
    }
    return { count, reasons };
  }

  private async decode(sent: ReceivedExport): Promise<DecodedExport<Ready>> {
    const { decoder } = this.rules;
    const { bytes, encoding } = sent.body;
    const steps = sent.packed
      ? decoder.unpack(sent.packed)
      : decoder.steps(bytes, encoding, this.resources.limits);
    const request = await convertDecodeErrors(inSlices(steps));
    sent.packed = undefined;
    // before anything is read from the records
    if (sent.masker) await inSlices(this.rules.mask(sent.masker, request));
    const repeated = new RepeatedBytes();
    await convertDecodeErrors(inSlices(this.rules.addRepeated(repeated, request)));
    const { rejected, recordCount } = request;
    if (this.rules.warnings)
      rejected.reasons.push(...(await inSlices(this.rules.warnings(request, sent.scope))));
    const weight = bytes.length + repeated.total + RECORD_BYTES * recordCount;
    const ready = await inSlices(this.rules.prepare(request, sent));
    return { ...sent, ready, rejected, weight };
  }
}

/** Converts decoding errors to 400. */
async function convertDecodeErrors<Result>(decoding: Promise<Result>): Promise<Result> {
  try {
    return await decoding;
  } catch (error) {
    if (!(error instanceof OtlpDecodeError)) throw error;
    throw problem.invalidRequest(error.detail, { cause: error });
  }
}

/** Adds up the parts of one export that are stored more often than sent. */
export class RepeatedBytes {
  private readonly sizes = new Map<object, number>();
  /** In characters of JSON. */
  total = 0;

  /**
   * Counts a part once more.
   *
   * @throws OtlpDecodeError if the sum exceeds REPEATED_MAX
   */
  add(part: object, textOf: (part: never) => string = JSON.stringify): void {
    let size = this.sizes.get(part);
    if (size === undefined) this.sizes.set(part, (size = textOf(part as never).length));
    this.total += size;
    if (this.total > REPEATED_MAX) {
      throw new OtlpDecodeError(
        `The export is too large: with its resources repeated for each scope, and its metrics for each point, it exceeds ${REPEATED_MAX} characters. Send smaller batches.`,
      );
    }
  }

  /** Adds the resources and scopes of records, which are stored once for each scope. */
  *addSources(records: Iterable<{ resource: OtlpResource; scope: OtlpScope }>): Generator<void, void> {
    const scopes = new Set<OtlpScope>();
    for (const { resource, scope } of records) {
      if (scopes.has(scope)) continue;
      scopes.add(scope);
      this.add(resource);
      this.add(scope);
      yield;
    }
  }
}

/**
 * Converts an error of the database: to 503 if the database is unreachable or too slow, else to 500. Never to 4xx, which an
 * exporter would not retry. The records have been validated before, so the error is not the sender's.
 */
function storeProblem(error: unknown): unknown {
  const databaseProblem = error instanceof Problem ? error : problemOfDatabaseError(error);
  if (!databaseProblem) return error;
  if (databaseProblem.code === 'service_unavailable' || databaseProblem.code === 'request_timeout') {
    return problem.unavailable('Telemetry cannot be stored right now. Try again later.', {
      headers: { 'Retry-After': '1' },
      cause: error,
    });
  }
  return error instanceof Problem
    ? error
    : new Problem('internal_error', 'The export could not be stored.', { cause: error });
}
