import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { TRACE_ID, TraceStore } from '../trace-store';
import type { TreeLimits } from '../trace-tree';
import type { TraceDto, TraceTreeDto } from './trace.dto';
import { toTraceDto, toTraceTreeDto } from './trace.mapper';
import { toTraceFilters, type TraceListQueryDto } from './trace-query.dto';

const MIB = 1024 * 1024;
const LIMITS: TreeLimits = { spans: 1_000, nameBytes: 4 * MIB, contentBytes: 8 * MIB };

/** Traces as they are read. Errors: 503 when they cannot be read, or not in time. */
@Injectable()
export class TraceService {
  constructor(private readonly store: TraceStore) {}

  async list(scope: Scope, query: TraceListQueryDto, signal: AbortSignal): Promise<Page<TraceDto>> {
    const { rows, page } = await this.store.heeding(signal).listTraces(scope, toTraceFilters(query), query);
    return { items: rows.map(toTraceDto), page };
  }

  /** A trace with the first of its spans. Error: 404 where it is not there. */
  async get(scope: Scope, traceId: string, signal: AbortSignal): Promise<TraceTreeDto> {
    const tree = TRACE_ID.test(traceId)
      ? await this.store.heeding(signal).findTree(scope, traceId, LIMITS)
      : undefined;
    if (!tree) throw problem.notFound('trace', traceId);
    return toTraceTreeDto(tree);
  }
}
