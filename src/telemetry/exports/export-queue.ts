import { OtlpDecodeError, type OtlpEncoding, type OtlpRejection } from '#otlp';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Problem, problem } from '#platform/problem';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import type { ExportMetrics, Signal } from './export.metrics';
import { GroupCommit } from './group-commit';
import { RepeatedBytes } from './repeated-bytes';

/** Weight of a group: about two thousand spans of a KiB. A group is written as a whole, and the next one waits for it. */
const GROUP_BYTES = 4 * 1024 * 1024;

/** Minimum weight of a record, however few bytes it has: a span may be a whole trace, with a row of its own. */
const RECORD_BYTES = 1024;

/** The members of every kind of request besides its records. */
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
export interface DecodedExport<Request> extends SentExport {
  request: Request;
  /** In bytes as stored. */
  weight: number;
}

export interface ExportRules<Request extends Decoded> {
  signal: Signal;
  /** @throws OtlpDecodeError */
  decode(bytes: Buffer, encoding: OtlpEncoding): Request;
  /** Adds the parts of an export that are stored more often than sent. */
  addRepeated(repeated: RepeatedBytes, request: Request): void;
  /** Stores all of the exports, or none. When it returns, they are committed. Errors: 503 for an outage. */
  store(exports: readonly DecodedExport<Request>[]): Promise<void>;
}

/** Share of a process's connections that stores exports. */
const CONNECTION_SHARE = 1 / 4;

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

/** Queues exports of one signal and stores small ones together. */
export class ExportQueue<Request extends Decoded> {
  private readonly groups: GroupCommit<SentExport, DecodedExport<Request>, OtlpRejection>;

  constructor(
    private readonly metrics: ExportMetrics,
    limiter: ExportLimiter,
    private readonly rules: ExportRules<Request>,
  ) {
    this.groups = new GroupCommit({
      limiter,
      // decoded late, because an undecoded export takes a fifth of the memory
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
    await this.rules.store(exports);
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
