import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { decodeTraceRequest, OtlpDecodeError, type OtlpRejection } from '#otlp';
import type { Scope } from '#platform/auth';
import { Problem, problem } from '#platform/problem';
import { GROUP_BYTES, GROUPS_AT_ONCE } from '../exports/export-limits';
import { ExportMetrics } from '../exports/export.metrics';
import { GroupCommit } from '../exports/group-commit';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import { TraceStore } from '../trace-store';

interface TraceExport {
  scope: Scope;
  body: OtlpBody;
}

type Decoded = ReturnType<typeof decodeTraceRequest>;

/** Takes exports of traces. What is small, and comes at once, is committed together. */
@Injectable()
export class TraceExportService {
  private readonly groups: GroupCommit<TraceExport, OtlpRejection>;

  constructor(
    private readonly store: TraceStore,
    metrics: ExportMetrics,
  ) {
    this.groups = new GroupCommit<TraceExport, OtlpRejection>({
      atOnce: GROUPS_AT_ONCE,
      maxWeight: GROUP_BYTES,
      weightOf: ({ body }) => body.bytes.length,
      write: (exports) => metrics.observe('traces', exports.length, () => this.write(exports)),
      isOutage: (error) => error instanceof Problem && error.status === 503,
    });
  }

  /**
   * Stores the spans of an export. When it returns they are committed. Errors: 400 for a body that cannot be read as
   * a whole, of which nothing is stored; 503 where the store cannot be reached or is too slow.
   *
   * @param signal ends the waiting for a turn; what is being stored by then is stored
   * @returns which spans were left out because they are invalid
   */
  export(scope: Scope, body: OtlpBody, signal: AbortSignal): Promise<OtlpRejection> {
    return this.groups.add([scope.orgId, scope.workspaceId], { scope, body }, signal);
  }

  /** Bodies are decoded as late as this: as they came they take a fifth of the memory. */
  private async write(exports: readonly TraceExport[]): Promise<PromiseSettledResult<OtlpRejection>[]> {
    const decoded: PromiseSettledResult<Decoded>[] = [];
    for (const { body } of exports) {
      // other requests are attended to between two bodies
      if (decoded.length > 0) await nextTurn();
      decoded.push(decode(body));
    }
    await this.store.append(
      decoded.flatMap((one, index) =>
        one.status === 'fulfilled' ? { scope: exports[index]!.scope, spans: one.value.spans } : [],
      ),
    );
    return decoded.map((one) =>
      one.status === 'fulfilled' ? { status: 'fulfilled', value: one.value.rejected } : one,
    );
  }
}

function decode({ bytes, encoding }: OtlpBody): PromiseSettledResult<Decoded> {
  try {
    return { status: 'fulfilled', value: decodeTraceRequest(bytes, encoding) };
  } catch (error) {
    if (!(error instanceof OtlpDecodeError)) return { status: 'rejected', reason: error };
    return { status: 'rejected', reason: problem.invalidRequest(error.detail, { cause: error }) };
  }
}
