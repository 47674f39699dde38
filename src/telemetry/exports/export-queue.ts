import { OtlpDecodeError, type OtlpEncoding, type OtlpRejection } from '#otlp';
import type { Scope } from '#platform/auth';
import { Problem, problem } from '#platform/problem';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import type { ExportMetrics, Signal } from './export.metrics';
import { GroupCommit } from './group-commit';
import type { GroupSlots } from './group-slots';
import { RepeatedBytes } from './repeated-bytes';

/** What a group comes to: about two thousand spans of a KiB. It is written as a whole, and the next waits for that. */
const GROUP_BYTES = 4 * 1024 * 1024;

/** What a record takes at least, however few bytes it was sent by: a span may be all of a trace, with a row of its own. */
const RECORD_BYTES = 1024;

/** What every kind of request holds besides its records. */
interface Decoded {
  rejected: OtlpRejection;
  /** With what records consist of, such as events. */
  recordCount: number;
}

/** An export as it came. */
interface SentExport {
  scope: Scope;
  body: OtlpBody;
}

/** An export that could be read. */
export interface DecodedExport<Request> extends SentExport {
  request: Request;
  /** In bytes; or as much as they would be. */
  weight: number;
}

export interface ExportRules<Request extends Decoded> {
  signal: Signal;
  /** @throws OtlpDecodeError */
  decode(bytes: Buffer, encoding: OtlpEncoding): Request;
  /** Adds what of an export is stored more often than it was sent. */
  addRepeated(repeated: RepeatedBytes, request: Request): void;
  /** Stores all of the exports, or none. When it returns they are committed. Errors: 503 for an outage. */
  store(exports: readonly DecodedExport<Request>[]): Promise<void>;
}

/** Takes exports of one kind. What is small, and comes at once, is stored together. */
export class ExportQueue<Request extends Decoded> {
  private readonly groups: GroupCommit<SentExport, DecodedExport<Request>, OtlpRejection>;

  constructor(
    private readonly metrics: ExportMetrics,
    slots: GroupSlots,
    private readonly rules: ExportRules<Request>,
  ) {
    this.groups = new GroupCommit({
      slots,
      // as late as this: as it came an export takes a fifth of the memory
      prepare: (sent) => this.decode(sent),
      maxWeight: GROUP_BYTES,
      weightOf: ({ weight }) => weight,
      write: (exports) => metrics.observe(rules.signal, () => this.write(exports)),
      isOutage: (error) => error instanceof Problem && error.status === 503,
    });
  }

  /**
   * Stores an export. When it returns it is committed. Errors: 400 for a body that cannot be read as a whole, of which
   * nothing is stored; 503 where the store cannot be reached or is too slow.
   *
   * @param signal ends the waiting for a turn; what is being stored by then is stored
   * @returns what was left out because it is invalid
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
