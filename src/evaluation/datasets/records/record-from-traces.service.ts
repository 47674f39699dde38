import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import type { Tx } from '#platform/db';
import { cutText } from '#platform/json';
import { type FieldError, Problem, problem } from '#platform/problem';
import {
  checkSelectionValues,
  conditionErrors,
  parseConditions,
  TraceStore,
  type TraceSummary,
} from '../../../telemetry';
import { BULK_MAX, checkWorkspaceOfCreate } from '../../../resources';
import { jsonSize, type TraceContent, TraceContentReader } from '../../trace-content';
import { DatasetService } from '../datasets/dataset.service';
import { RecordBulkService } from './record-bulk.service';
import { contentOf, type RecordContent } from './record-content';
import type { RecordFromTraceDto, RecordsFromTracesDto } from './record-from-traces.dto';

/** Maximum size of the records of one request, in MiB of JSON. A single trace always fits. */
const CONTENT_MIB = 8;
/** Maximum number of concurrent requests of an organization. One more can run for others. Each may take about 60 MiB. */
const REQUESTS_AT_ONCE = 1;
const REQUESTS_WAITING = 200;
/** Maximum length of a name in the metadata of a record, in characters. Longer names are cut. */
const NAME_MAX = 255;

/** Creates records from traces. */
@Injectable()
export class RecordFromTracesService {
  private readonly limiter = new FairLimiter({ share: REQUESTS_AT_ONCE, maxWaiting: REQUESTS_WAITING });

  constructor(
    private readonly datasets: DatasetService,
    private readonly store: TraceStore,
    private readonly contents: TraceContentReader,
    private readonly bulk: RecordBulkService,
  ) {}

  /**
   * Creates a record from each trace, in one transaction. Each trace succeeds or fails independently: 400 if it has no input
   * or violates the schemas of the dataset, 409 if it already has a record, 413 if it does not fit into the request.
   * Errors of the request: 400 without traces or with contradictory selectors, 422 for a selection of more than 100 traces,
   * 404 for an unknown dataset or naming unknown traces, 409 for an archived dataset, 503 when too many requests wait.
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
    if (dto.trace_ids) await this.checkStored(scope, dto.trace_ids);
    checkSelectionValues(dto);
    const ids = dto.trace_ids ? [...new Set(dto.trace_ids)] : await this.select(scope, dto, signal);
    const items = await this.limiter.run(scope, signal, async () => {
      const contents = await this.readContents(scope, ids, dto, signal);
      const place = (fault: Problem): Problem => fault;
      const lockSources = (tx: Tx) => this.lockTraces(tx, scope, ids, contents);
      return this.bulk.write(scope, datasetId, { dto, contents, place, lockSources }, signal);
    });
    return items.map(({ index, ...outcome }) => ({ index, trace_id: ids[index]!, ...outcome }));
  }

  /** Checks that traces are stored. Errors: 404 naming those that are not, even if a result names them. */
  private async checkStored(scope: Scope, ids: readonly string[]): Promise<void> {
    const refs = await this.store.traceRefs(scope, { trace_ids: [...new Set(ids)] }, ids.length);
    const stored = new Set(refs.map(({ trace_id }) => trace_id));
    const errors = ids.flatMap((id, index) =>
      stored.has(id) ? [] : { pointer: `/trace_ids/${index}`, detail: notStored(id) },
    );
    if (errors.length > 0) throw problem.unknownReferences(errors);
  }

  /** Returns the ids of the selected traces, newest first. Errors: 422 with the number of traces if it exceeds 100. */
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

  /** Locks traces against erasure. The content of a trace that was deleted after it was read becomes a 404. */
  private async lockTraces(
    tx: Tx,
    scope: Scope,
    ids: readonly string[],
    contents: readonly (RecordContent | Problem)[],
  ): Promise<(RecordContent | Problem)[]> {
    const locked = await this.store.lockTraces(tx, scope, ids);
    return contents.map((content, index) => {
      const id = ids[index]!;
      return content instanceof Problem || locked.has(id) ? content : new Problem('not_found', notStored(id));
    });
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
      const record = trace
        ? recordOf(trace, dto)
        : new Problem('not_found', notStored(ids[contents.length]!));
      if (!(record instanceof Problem)) bytes += sizeOf(record);
      if (bytes > CONTENT_MIB * 1024 * 1024) break;
      contents.push(record);
    }
    return ids.map((_, index) => contents[index] ?? beyondLimit());
  }
}

/** Checks the rules between the members of a request. Needs no database access. Errors: 400. */
function checkSelectors(dto: RecordsFromTracesDto): void {
  const isSelected = dto.filters?.length || dto.since || dto.until;
  if (!dto.trace_ids && !isSelected) {
    throw problem.invalidRequest(
      'Name the traces in trace_ids, or select them with filters, since or until.',
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
    `The selection matches ${count} traces, but the maximum is ${BULK_MAX}. Narrow it, or set limit to take the newest ones.`,
  );

/** Returns the content of a trace's record, or the problem if the trace cannot become a record. */
function recordOf({ trace, content }: TraceContent, dto: RecordsFromTracesDto): RecordContent | Problem {
  if (!content) return tooLarge();
  const { input, output } = content;
  if (input === null) {
    return problem.invalidRequest(
      'The trace has no input: neither its root span nor any of its model calls has one.',
    );
  }
  if (dto.expected === 'output' && output === null) {
    return problem.invalidRequest(
      'The trace has no output. Leave out `expected`, and add the expected answer later.',
    );
  }
  return contentOf({
    input,
    expected: dto.expected === 'output' ? output : null,
    metadata: metadataOf(trace),
    tags: dto.tags,
    source_kind: 'trace',
    source_ref: trace.trace_id,
    external_id: trace.trace_id,
  });
}

const metadataOf = ({ root_name, service_name, session_id, started_at }: TraceSummary): object => ({
  root_name: shortName(root_name),
  service_name: shortName(service_name),
  session_id: shortName(session_id),
  started_at,
});

const shortName = (name: string | null): string | null => (name === null ? null : cutText(name, NAME_MAX));

const sizeOf = ({ input, expected }: RecordContent): number => jsonSize(input) + jsonSize(expected);

const notStored = (traceId: string): string =>
  `The trace ${traceId} does not exist or is not visible to you.`;

const tooLarge = (): Problem =>
  new Problem('payload_too_large', `The input and output of the trace exceed ${CONTENT_MIB} MiB of JSON.`);

const beyondLimit = (): Problem =>
  new Problem(
    'payload_too_large',
    `The traces before this one fill the ${CONTENT_MIB} MiB of a request. Send this trace in a separate request.`,
  );
