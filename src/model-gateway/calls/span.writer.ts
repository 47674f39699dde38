import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { NO_ROLES, type Scope, workspaceScope } from '#platform/auth';
import { rootLogger } from '#platform/logging';
import { TraceExportService } from '../../telemetry';
import type { JsonObject } from '../formats/json-shape';

/** Spans of one export. */
const EXPORT_MAX = 500;
/** Longest time for an export, in milliseconds. */
const EXPORT_MS = 10_000;

interface Pending {
  span: JsonObject;
  resolve: () => void;
}

/** The spans of a workspace that wait while others of it are stored. */
interface Queue {
  scope: Scope;
  pending: Pending[];
  writing: Promise<void>;
}

/** Stores the spans of calls in the trace store, those of a workspace together. */
@Injectable()
export class SpanWriter implements OnModuleDestroy {
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly traces: TraceExportService) {}

  /** Stores a span. Resolves when it can be read, or when it could not be stored: the answer is worth more than its span. */
  add(orgId: string, workspaceId: string, span: JsonObject): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.queues.get(workspaceId);
      if (queue) return void queue.pending.push({ span, resolve });
      const scope = workspaceScope(orgId, workspaceId, 'model-gateway', NO_ROLES);
      const created: Queue = { scope, pending: [{ span, resolve }], writing: Promise.resolve() };
      this.queues.set(workspaceId, created);
      created.writing = this.write(created);
    });
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.queues.values()].map(({ writing }) => writing));
  }

  private async write(queue: Queue): Promise<void> {
    // spans that end in the same turn of the event loop are one export
    await Promise.resolve();
    while (queue.pending.length > 0) {
      const group = queue.pending.splice(0, EXPORT_MAX);
      const bytes = Buffer.from(JSON.stringify(exportOf(group.map(({ span }) => span))));
      try {
        await this.traces.export(queue.scope, { bytes, encoding: 'json' }, AbortSignal.timeout(EXPORT_MS));
      } catch (err) {
        rootLogger.warn(
          { err, workspace_id: queue.scope.workspaceId },
          'spans of the model gateway could not be stored',
        );
      }
      group.forEach(({ resolve }) => resolve());
    }
    this.queues.delete(queue.scope.workspaceId);
  }
}

const exportOf = (spans: readonly JsonObject[]): JsonObject => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'model-gateway' } }] },
      scopeSpans: [{ scope: { name: 'agent-registry.model-gateway' }, spans }],
    },
  ],
});
