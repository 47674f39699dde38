import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import { cutText, toJsonText } from '#platform/json';
import { type FieldError, Problem, problem } from '#platform/problem';
import {
  checkSelectionValues,
  conditionErrors,
  parseConditions,
  TraceStore,
  type TraceSummary,
} from '../../../telemetry';
import { BULK_MAX, checkWorkspaceOfCreate } from '../../../resources';
import { DatasetService } from '../datasets/dataset.service';
import { RecordBulkService } from './record-bulk.service';
import type { RecordContent } from './record-content';
import type { RecordFromTraceDto, RecordsFromTracesDto } from './record-from-traces.dto';

/** Bytes of JSON that the records of one request have, at most. A single trace always fits. */
const CONTENT_BYTES = 8 * 1024 * 1024;
/** Concurrent requests of an organization. One more may run for another organization. Each may take some 60 MiB. */
const REQUESTS_AT_ONCE = 1;
const REQUESTS_WAITING = 200;
/** Characters of a name in the metadata of a record. */
const NAME_MAX = 255;

/** What a scorer sees of a trace. */
export interface TraceContent {
  trace_id: string;
  /** Undefined if only results name the trace. */
  trace: TraceSummary | undefined;
  /** Null for a value that the trace does not have. `error` if the values are too large. */
  content: { input: unknown; output: unknown } | { error: string };
}

/** Reads traces as scorers see them. The part that builds what scorers see provides it. */
export abstract class TraceContents {
  /** Checks that traces exist. Errors: 404 naming those that do not. */
  abstract checkIds(scope: Scope, traceIds: string[]): Promise<void>;
  /** Yields the content of existing traces, in order. Reads only a few traces ahead. */
  abstract read(scope: Scope, traceIds: readonly string[]): AsyncIterable<TraceContent>;
}

/** Makes records from traces. */
@Injectable()
export class RecordFromTracesService {
  private readonly limiter = new FairLimiter({ share: REQUESTS_AT_ONCE, maxWaiting: REQUESTS_WAITING });

  constructor(
    private readonly datasets: DatasetService,
    private readonly store: TraceStore,
    private readonly contents: TraceContents,
    private readonly bulk: RecordBulkService,
  ) {}

  /**
   * Makes a record from each trace, in one transaction. Each succeeds or fails by itself: 400 for a trace without input, or
   * against the schemas of the dataset, 409 for one that has a record, 413 for one that does not fit into the request.
   * Errors of the request: 400 without traces or with contradictory selectors; 422 for a selection of more than 100; 404
   * for an unknown dataset, and naming unknown traces; 409 for an archived dataset; 503 when too many requests wait.
   */
  async create(
    scope: Scope,
    datasetId: string,
    dto: RecordsFromTracesDto,
    signal: AbortSignal,
  ): Promise<RecordFromTraceDto[]> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    checkSelectors(dto);
    await this.datasets.findLive(scope, datasetId);
    if (dto.trace_ids) await this.contents.checkIds(scope, dto.trace_ids);
    checkSelectionValues(dto);
    const ids = dto.trace_ids ? [...new Set(dto.trace_ids)] : await this.select(scope, dto, signal);
    const items = await this.limiter.run(scope, signal, async () => {
      const contents = await this.readContents(scope, ids, dto, signal);
      return this.bulk.write(scope, datasetId, { dto, contents, place: (fault) => fault }, signal);
    });
    return items.map(({ index, ...outcome }) => ({ index, trace_id: ids[index]!, ...outcome }));
  }

  /** Returns the traces of a selection, newest first. Errors: 422 for more than 100 of them, with their number. */
  private async select(scope: Scope, dto: RecordsFromTracesDto, signal: AbortSignal): Promise<string[]> {
    const selection = parseConditions(dto);
    if (dto.limit && dto.limit > BULK_MAX) {
      throw problem.validationFailed([{ pointer: '/limit', detail: `must be at most ${BULK_MAX}` }]);
    }
    const store = this.store.withSignal(signal);
    const refs = await store.traceRefs(scope, selection, dto.limit ?? BULK_MAX + 1);
    if (refs.length > BULK_MAX) throw tooMany(await store.countSelectedTraces(scope, selection));
    return refs.map(({ trace_id }) => trace_id);
  }

  private async readContents(
    scope: Scope,
    ids: readonly string[],
    dto: RecordsFromTracesDto,
    signal: AbortSignal,
  ): Promise<(RecordContent | Problem)[]> {
    const contents: (RecordContent | Problem)[] = [];
    let bytes = 0;
    for await (const trace of this.contents.read(scope, ids)) {
      signal.throwIfAborted();
      const record = recordOf(trace, dto);
      if (!(record instanceof Problem)) bytes += sizeOf(record);
      if (bytes > CONTENT_BYTES) break;
      contents.push(record);
    }
    return ids.map((_, index) => contents[index] ?? beyondTheRequest());
  }
}

/** Checks the rules between the members of a request, which need nothing from the database. Errors: 400. */
function checkSelectors(dto: RecordsFromTracesDto): void {
  const isSelected = dto.filters?.length || dto.since || dto.until;
  if (!dto.trace_ids && !isSelected) {
    throw problem.invalidRequest(
      'Name the traces by trace_ids, or select them by at least one filter, since or until.',
    );
  }
  const errors: FieldError[] = conditionErrors(dto);
  for (const member of ['filters', 'since', 'until', 'limit'] as const) {
    if (dto.trace_ids && (dto[member] ?? null) !== null) {
      errors.push({ pointer: `/${member}`, detail: 'cannot be combined with trace_ids' });
    }
  }
  if (errors.length > 0) throw problem.invalidFields(errors);
}

const tooMany = (count: number): Problem =>
  problem.validationFailed(
    `The selection matches ${count} traces, more than ${BULK_MAX}. Narrow it, or give a limit to take the newest.`,
  );

/** Returns the record of a trace, or why the trace gives no record. */
function recordOf(
  { trace_id, trace, content }: TraceContent,
  dto: RecordsFromTracesDto,
): RecordContent | Problem {
  if ('error' in content) return new Problem('payload_too_large', content.error);
  const { input, output } = content;
  if (input === null) {
    return problem.invalidRequest(
      'The trace has no input: neither its root span nor a call of a model has one.',
    );
  }
  if (dto.expected === 'output' && output === null) {
    return problem.invalidRequest(
      'The trace has no output. Leave out `expected`, and write the answer later.',
    );
  }
  return {
    input,
    expected: dto.expected === 'output' ? output : null,
    metadata: trace ? metadataOf(trace) : {},
    tags: dto.tags ?? [],
    label: null,
    category: null,
    source_kind: 'trace',
    source_ref: trace_id,
    external_id: trace_id,
  };
}

const metadataOf = ({ root_name, service_name, session_id, started_at }: TraceSummary): object => ({
  root_name: named(root_name),
  service_name: named(service_name),
  session_id: named(session_id),
  started_at,
});

const named = (name: string | null): string | null => (name === null ? null : cutText(name, NAME_MAX));

const sizeOf = ({ input, expected }: RecordContent): number =>
  Buffer.byteLength(toJsonText(input)) + Buffer.byteLength(toJsonText(expected));

const beyondTheRequest = (): Problem =>
  new Problem(
    'payload_too_large',
    `The traces before this one have ${CONTENT_BYTES / 1024 / 1024} MiB. Send this trace in a separate request.`,
  );
