import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { TraceStore } from '../trace-store';
import type { TraceDto } from './trace.dto';
import { toTraceDto } from './trace.mapper';
import { toTraceFilters, type TraceListQueryDto } from './trace-query.dto';

/** Traces as they are read. Errors: 503 when they cannot be read, or not in time. */
@Injectable()
export class TraceService {
  constructor(private readonly store: TraceStore) {}

  async list(scope: Scope, query: TraceListQueryDto): Promise<Page<TraceDto>> {
    const { rows, page } = await this.store.listTraces(scope, toTraceFilters(query), query);
    return { items: rows.map(toTraceDto), page };
  }
}
