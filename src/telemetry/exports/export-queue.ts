import { setImmediate as nextTurn } from 'node:timers/promises';
import { OtlpDecodeError, type OtlpEncoding, type OtlpRejection } from '#otlp';
import type { Scope } from '#platform/auth';
import { Problem, problem } from '#platform/problem';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import type { ExportMetrics, Signal } from './export.metrics';
import { GroupCommit } from './group-commit';
import type { GroupSlots } from './group-slots';
import { RepeatedBytes } from './repeated-bytes';

/** What the bodies of a group come to, in bytes: about four thousand spans. */
const GROUP_BYTES = 4 * 1024 * 1024;

/** What every kind of request holds besides its records. */
interface Decoded {
  rejected: OtlpRejection;
}

/** An export as it came. */
interface SentExport {
  scope: Scope;
  body: OtlpBody;
}

/** An export that could be read. */
export interface DecodedExport<Request> extends SentExport {
  request: Request;
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
  private readonly groups: GroupCommit<SentExport, OtlpRejection>;

  constructor(
    private readonly metrics: ExportMetrics,
    slots: GroupSlots,
    private readonly rules: ExportRules<Request>,
  ) {
    this.groups = new GroupCommit<SentExport, OtlpRejection>({
      slots,
      maxWeight: GROUP_BYTES,
      weightOf: ({ body }) => body.bytes.length,
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

  /** Bodies are decoded as late as this: as they came they take a fifth of the memory. */
  private async write(exports: readonly SentExport[]): Promise<PromiseSettledResult<OtlpRejection>[]> {
    const decoded: PromiseSettledResult<Request>[] = [];
    for (const { body } of exports) {
      // other requests are attended to between two bodies
      if (decoded.length > 0) await nextTurn();
      decoded.push(this.decode(body));
    }
    await this.rules.store(
      decoded.flatMap((one, index) =>
        one.status === 'fulfilled' ? { ...exports[index]!, request: one.value } : [],
      ),
    );
    return decoded.map((one) =>
      one.status === 'fulfilled' ? { status: 'fulfilled', value: one.value.rejected } : one,
    );
  }

  private decode({ bytes, encoding }: OtlpBody): PromiseSettledResult<Request> {
    try {
      const request = this.rules.decode(bytes, encoding);
      this.rules.addRepeated(new RepeatedBytes(), request);
      return { status: 'fulfilled', value: request };
    } catch (error) {
      if (!(error instanceof OtlpDecodeError)) return { status: 'rejected', reason: error };
      return { status: 'rejected', reason: problem.invalidRequest(error.detail, { cause: error }) };
    }
  }
}
