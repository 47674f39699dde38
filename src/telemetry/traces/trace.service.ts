import { Injectable } from '@nestjs/common';
import { type DecodedTraceRequest, type OtlpRejection, REQUEST_DECODERS } from '#otlp';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import type { Page } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import { warningsForSpans } from '../evaluation-events/evaluation-event';
import { SpanQuota } from '../../registry';
import { AuditLog, checkWorkspaceOfSearch } from '../../resources';
import { countRefused } from '../deletion/refusals';
import { ExportQueue, ExportResources } from '../exports/export-queue';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import { spanKey, type SpanRecord } from './span-record';
import type { DeleteTraceQueryDto, TraceListQueryDto } from './trace-query.dto';
import { TraceDeletion } from './trace-deletion';
import { TraceUses } from '../deletion/trace-uses';
import { TraceStore } from './trace-store';
import { type ScoredTraceDto, toScoredTraceDto, toTraceTreeDto, type TraceTreeDto } from './trace.dto';
import { TRACE_ID, type TreeLimits } from './trace.types';
import { TraceWriter } from './trace.writer';

const MIB = 1024 * 1024;
const LIMITS: TreeLimits = { spans: 1_000, nameBytes: 4 * MIB, contentBytes: 8 * MIB };

/** Reads and deletes traces. Errors: 503 if reading takes too long. */
@Injectable()
export class TraceService {
  constructor(
    private readonly store: TraceStore,
    private readonly database: Database,
    private readonly deletion: TraceDeletion,
    private readonly uses: TraceUses,
    private readonly audit: AuditLog,
  ) {}

  async list(scope: Scope, query: TraceListQueryDto, signal: AbortSignal): Promise<Page<ScoredTraceDto>> {
    const { rows, page, scores } = await this.store.withSignal(signal).listScoredTraces(scope, query);
    return { items: rows.map((trace) => toScoredTraceDto(trace, scores.get(trace.trace_id))), page };
  }

  /** Reads a trace with its first spans. Error: 404 for an unknown trace. */
  async get(scope: Scope, traceId: string, signal: AbortSignal): Promise<TraceTreeDto> {
    const store = this.store.withSignal(signal);
    const tree = TRACE_ID.test(traceId) && (await store.findTree(scope, traceId, LIMITS));
    return toTraceTreeDto(orNotFound(tree, 'trace', traceId));
  }

  /** Tells which traces are stored, in the order of the request. Error: 400 for another workspace than the header's. */
  async findExisting(
    scope: Scope,
    { workspace_id, trace_ids }: { workspace_id?: string; trace_ids: readonly string[] },
    signal: AbortSignal,
  ): Promise<{ found: string[]; missing: string[] }> {
    checkWorkspaceOfSearch(scope, workspace_id);
    const ids = [...new Set(trace_ids)];
    const existing = await this.store.withSignal(signal).findExisting(scope, ids);
    return { found: ids.filter((id) => existing.has(id)), missing: ids.filter((id) => !existing.has(id)) };
  }

  /**
   * Deletes a trace with its spans, log records and scores. Errors: 404 for an unknown trace; unless it is forced, 409 for a trace
   * that an open scoring run, batch or annotation queue uses.
   */
  async delete(scope: Scope, traceId: string, { force = false }: DeleteTraceQueryDto): Promise<void> {
    const { workspaceId } = scope;
    await this.database.transaction(async (tx) => {
      const use = force ? undefined : (await this.uses.findOpen(tx, workspaceId, [traceId])).get(traceId);
      const { traces } = await this.deletion.delete(tx, workspaceId, TRACE_ID.test(traceId) ? [traceId] : []);
      orNotFound(traces === 1 || null, 'trace', traceId);
      if (use !== undefined) {
        throw problem.conflict(
          `The ${use} uses the trace. Wait until it has ended, cancel or archive it, or send \`force=true\`.`,
        );
      }
      await this.audit.record(tx, scope, { action: 'delete', type: 'trace', id: traceId, workspaceId });
    });
  }
}

/** Stores exports of traces. */
@Injectable()
export class TraceExportService extends ExportQueue<DecodedTraceRequest, SpanRecord[]> {
  /** The spans that are reserved for exports. */
  private readonly reserved: WeakMap<OtlpBody, number>;

  constructor(
    writer: TraceWriter,
    resources: ExportResources,
    private readonly quota: SpanQuota,
  ) {
    const reserved = new WeakMap<OtlpBody, number>();
    super(resources, {
      signal: 'traces',
      decoder: REQUEST_DECODERS.traces,
      *mask(masker, { spans }) {
        for (const span of spans) {
          yield* masker.span(span);
          yield;
        }
      },
      addRepeated: (repeated, { spans }) => repeated.addSources(spans),
      warnings: ({ spans }, scope) => warningsForSpans(scope, spans),
      prepare: ({ spans }, { scope, body, masker }) => {
        quota.reserve(scope.orgId, spans.length);
        reserved.set(body, spans.length);
        return writer.prepare(scope, spans, body.bytes.length, masker);
      },
      store: async (exports) => {
        const refused = await writer.write(exports.map(({ ready }) => ready));
        for (const { scope, ready } of exports) quota.add(scope.orgId, ready.length);
        if (refused.size === 0) return undefined;
        return exports.map(({ ready }) => countRefused(ready.map((record) => refused.get(spanKey(record)))));
      },
    });
    this.reserved = reserved;
  }

  /** Errors: 429 beyond the quota of spans; those of every export. */
  override async export(scope: Scope, body: OtlpBody, signal: AbortSignal): Promise<OtlpRejection> {
    if (this.quota.quota === null) return super.export(scope, body, signal);
    await this.quota.check(scope.orgId);
    try {
      return await super.export(scope, body, signal);
    } finally {
      this.quota.release(scope.orgId, this.reserved.get(body) ?? 0);
    }
  }
}
