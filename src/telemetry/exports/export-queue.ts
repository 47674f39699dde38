import {
  OtlpDecodeError,
  type OtlpEncoding,
  type OtlpRejection,
  type OtlpResource,
  type OtlpScope,
} from '#otlp';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Problem, problem, problemOfDatabaseError } from '#platform/problem';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import type { ExportMetrics, Signal } from './export.metrics';
import { GroupCommit } from './group-commit';

/** Weight of a group: about two thousand spans of a KiB. A group is written as a whole, and the next one waits for it. */
const GROUP_BYTES = 4 * 1024 * 1024;

/** Minimum weight of a record, however few bytes it has: a single span may be a whole trace, with a row of its own. */
const RECORD_BYTES = 1024;

/**
 * Limit of the parts of an export that are sent once and stored repeatedly, in characters of JSON: a resource for each of
 * its scopes, a metric for each of its points. Without a limit, a few compressed bytes could expand to gigabytes. Exporters
 * send a few kilobytes.
 */
const REPEATED_MAX = 16 * 1024 * 1024;

/** Share of a process's connections that may store exports. */
const CONNECTION_SHARE = 1 / 4;

/** The members that requests of every signal have besides their records. */
interface Decoded {
  rejected: OtlpRejection;
  /** Includes parts of records, such as events. */
  recordCount: number;
}

/** An export as it was sent. */
interface SentExport {
  scope: Scope;
  body: OtlpBody;
}

/** A decoded export. */
interface DecodedExport<Request> extends SentExport {
  request: Request;
  /** Size in bytes as stored. */
  weight: number;
}

export interface ExportRules<Request extends Decoded> {
  signal: Signal;
  /** @throws OtlpDecodeError */
  decode(bytes: Buffer, encoding: OtlpEncoding): Request;
  /** Adds the parts of an export that are stored more often than sent. */
  addRepeated(repeated: RepeatedBytes, request: Request): void;
  /** Stores all of the exports, or none. When it returns, they are committed. */
  store(exports: readonly DecodedExport<Request>[]): Promise<void>;
}

/**
 * Limits how many groups of traces, logs and metrics are stored at once, so that a flood of exports leaves most
 * connections to readers and to all other areas. First come, first served.
 */
@Injectable()
export class ExportLimiter extends FairLimiter {
  constructor({ DATABASE_POOL_SIZE }: Environment) {
    super({ concurrency: Math.max(1, Math.floor(DATABASE_POOL_SIZE * CONNECTION_SHARE)) });
  }
}

/** Queues the exports of one signal and stores small ones together. */
export class ExportQueue<Request extends Decoded> {
  private readonly groups: GroupCommit<SentExport, DecodedExport<Request>, OtlpRejection>;

  constructor(
    private readonly metrics: ExportMetrics,
    limiter: ExportLimiter,
    private readonly rules: ExportRules<Request>,
  ) {
    this.groups = new GroupCommit({
      limiter,
      // decoded as late as possible, because an undecoded export takes a fifth of the memory
      prepare: (sent) => this.decode(sent),
      maxWeight: GROUP_BYTES,
      weightOf: ({ weight }) => weight,
      write: (exports) => metrics.observe(rules.signal, () => this.write(exports)),
      isOutage: (error) => error instanceof Problem && error.status === 503,
    });
  }

  /**
   * Stores an export. When it returns, it is committed. Errors: 400 for a body that cannot be decoded; none of it is
   * stored. 503 if the database is unavailable or too slow.
   *
   * @param signal ends the wait for a turn; an export that is already being written is stored
   * @returns the invalid records, which were left out
   */
  async export(scope: Scope, body: OtlpBody, signal: AbortSignal): Promise<OtlpRejection> {
    const stored = this.groups.add([scope.orgId, scope.workspaceId], { scope, body }, signal);
    return this.metrics.count(this.rules.signal, stored);
  }

  private async write(exports: readonly DecodedExport<Request>[]): Promise<OtlpRejection[]> {
    try {
      await this.rules.store(exports);
    } catch (error) {
      throw storeProblem(error);
    }
    return exports.map(({ request }) => request.rejected);
  }

  private decode(sent: SentExport): DecodedExport<Request> {
    const { bytes, encoding } = sent.body;
    try {
      const request = this.rules.decode(bytes, encoding);
      const repeated = new RepeatedBytes();
      this.rules.addRepeated(repeated, request);
      const weight = bytes.length + repeated.total + RECORD_BYTES * request.recordCount;
      return { ...sent, request, weight };
    } catch (error) {
      if (!(error instanceof OtlpDecodeError)) throw error;
      throw problem.invalidRequest(error.detail, { cause: error });
    }
  }
}

/** Adds up the parts of one export that are stored more often than sent. */
class RepeatedBytes {
  private readonly sizes = new Map<object, number>();
  /** In characters of JSON. */
  total = 0;

  /**
   * Counts a part once more.
   *
   * @throws OtlpDecodeError when the sum exceeds REPEATED_MAX
   */
  add(part: object, textOf: (part: never) => string = JSON.stringify): void {
    let size = this.sizes.get(part);
    if (size === undefined) this.sizes.set(part, (size = textOf(part as never).length));
    this.total += size;
    if (this.total > REPEATED_MAX) {
      throw new OtlpDecodeError(
        `The export exceeds ${REPEATED_MAX} characters when its resources are repeated for their scopes and its metrics for their points. Send smaller batches.`,
      );
    }
  }

  /** Adds the resources and scopes of records, which are stored once for each scope. */
  addSources(records: Iterable<{ resource: OtlpResource; scope: OtlpScope }>): void {
    const scopes = new Set<OtlpScope>();
    for (const { resource, scope } of records) {
      if (scopes.has(scope)) continue;
      scopes.add(scope);
      this.add(resource);
      this.add(scope);
    }
  }
}

/**
 * Converts an error of the database: 503 if it is unreachable or too slow, else 500. Never 4xx, which an exporter would
 * not retry: the records were validated before, so the error is not the sender's.
 */
function storeProblem(error: unknown): unknown {
  const known = error instanceof Problem ? error : problemOfDatabaseError(error);
  if (!known) return error;
  if (known.code === 'service_unavailable' || known.code === 'request_timeout') {
    return problem.unavailable('Telemetry cannot be stored at the moment. Try again later.', {
      headers: { 'Retry-After': '1' },
      cause: error,
    });
  }
  return error instanceof Problem
    ? error
    : new Problem('internal_error', 'It could not be stored.', { cause: error });
}
