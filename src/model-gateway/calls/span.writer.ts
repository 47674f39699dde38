import { Injectable } from '@nestjs/common';
import { NO_ROLES, type Scope, workspaceScope } from '#platform/auth';
import { rootLogger } from '#platform/logging';
import { TraceExportService } from '../../telemetry';
import type { JsonObject } from '../formats/json-shape';

/** Maximum spans and characters of one export. A single larger span is exported alone. */
const EXPORT_MAX = 500;
const EXPORT_LENGTH_MAX = 4 * 1024 * 1024;
/** Maximum time for an export, in milliseconds. */
const EXPORT_MS = 10_000;

interface Pending {
  /** The span as JSON. */
  span: string;
  resolve: () => void;
}

/** The spans of a workspace that wait while its earlier spans are stored. */
interface Queue {
  scope: Scope;
  pending: Pending[];
}

/** Stores the spans of calls in the trace store, grouped by workspace. */
@Injectable()
export class SpanWriter {
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly traces: TraceExportService) {}

  /** Stores a span. Resolves when the span can be read, or could not be stored, because a lost span must not fail the call. */
  add(orgId: string, workspaceId: string, span: JsonObject): Promise<void> {
    return new Promise((resolve) => {
      const added = { span: JSON.stringify(span), resolve };
      const queue = this.queues.get(workspaceId);
      if (queue) return void queue.pending.push(added);
      const scope = workspaceScope(orgId, workspaceId, 'model-gateway', NO_ROLES);
      const created: Queue = { scope, pending: [added] };
      this.queues.set(workspaceId, created);
      void this.write(created);
    });
  }

  /** Writes until the queue is empty. Never rejects. */
  private async write(queue: Queue): Promise<void> {
    // spans that end in the same turn of the event loop are one export
    await Promise.resolve();
    while (queue.pending.length > 0) {
      const group = queue.pending.splice(0, groupSize(queue.pending));
      try {
        const bytes = Buffer.from(exportOf(group.map(({ span }) => span)));
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

/** Returns how many of the pending spans fit in one export. */
function groupSize(pending: readonly Pending[]): number {
  let length = 0;
  const end = pending.findIndex(({ span }, at) => {
    length += span.length;
    return at === EXPORT_MAX || (at > 0 && length > EXPORT_LENGTH_MAX);
  });
  return end < 0 ? pending.length : end;
}

const RESOURCE = { attributes: [{ key: 'service.name', value: { stringValue: 'model-gateway' } }] };
const SCOPE = { name: 'agent-registry.model-gateway' };

/** Returns an OTLP/JSON export. @param spans the spans as JSON */
const exportOf = (spans: readonly string[]): string =>
  `{"resourceSpans":[{"resource":${JSON.stringify(RESOURCE)},"scopeSpans":[{"scope":${JSON.stringify(SCOPE)},"spans":[${spans.join(',')}]}]}]}`;
