import type { Scope } from '#platform/auth';
import { newId } from '#platform/ids';
import { RawJson, toRawJsonOrNull } from '#platform/json';
import { Problem } from '#platform/problem';
import { checkItem, repeatedItem } from '../../../resources';
import { type CaseReferences, caseOfTrial, checkCase, valueLimiter } from './case-rules';
import type { ResultFieldsDto } from './result.dto';
import type { NewResultRow } from './result.repository';
import { readScores, type SentScore } from '../../scores';

/** A result to write, and its scores. */
export interface PlannedResult {
  row: NewResultRow;
  scores: SentScore[];
}

/** Returns a function that plans items in the order in which they were sent. If two have the same `case_id`, the first wins. */
export function planner(
  scope: Scope,
  experimentId: string,
  references: CaseReferences,
): (item: ResultFieldsDto, index: number) => PlannedResult | Problem {
  const at = new Date();
  const firstOf = new Map<string, number>();
  const limitProblem = valueLimiter(references);
  return (item, index) => {
    const checked = checkItem(() => checkCase(references, item));
    if (checked instanceof Problem) return checked;
    const first = firstOf.get(item.case_id);
    if (first !== undefined) return repeatedItem(index, 'case_id', first);
    firstOf.set(item.case_id, index);
    return limitProblem(item) ?? newResult(scope, experimentId, item, references, at);
  };
}

function newResult(
  scope: Scope,
  experimentId: string,
  dto: ResultFieldsDto,
  references: CaseReferences,
  at: Date,
): PlannedResult {
  const record = references.records.get(dto.dataset_record_id ?? '');
  const csvCase = references.csvCases.get(references.csvRows?.get(dto.case_id) ?? 0);
  const row: NewResultRow = {
    result_id: newId('res'),
    experiment_id: experimentId,
    workspace_id: scope.workspaceId,
    case_id: dto.case_id,
    input: dto.input === undefined ? (csvCase?.input ?? null) : toRawJsonOrNull(dto.input),
    expected: dto.expected === undefined ? (csvCase?.expected ?? null) : toRawJsonOrNull(dto.expected),
    metadata: toRawJsonOrNull(dto.metadata) ?? EMPTY_OBJECT,
    tags: (dto.tags === undefined ? csvCase?.tags : dto.tags) ?? [],
    dataset_record_id: dto.dataset_record_id ?? null,
    dataset_record_version: record?.version ?? null,
    output: toRawJsonOrNull(dto.output),
    error: toRawJsonOrNull(dto.error),
    trace_id: dto.trace_id ?? null,
    session_id: dto.session_id ?? null,
    duration_ms: dto.duration_ms ?? null,
    trial_group: dto.trial_group ?? trialGroupOf(dto, references),
    trial_index: dto.trial_index ?? null,
    version: 1,
    generation: 1,
    erased: false,
    is_expected: references.csvRows !== null || (references.isRecordBacked && record!.is_live),
    created_at: at,
    updated_at: at,
    created_by: scope.principalId,
    takes_input: record !== undefined && dto.input === undefined,
    takes_expected: record !== undefined && dto.expected === undefined,
    takes_tags: record !== undefined && dto.tags === undefined,
  };
  return { row, scores: readScores(dto.scores) };
}

/** Returns the case of a trial that neither a record nor a group names. */
const trialGroupOf = (dto: ResultFieldsDto, references: CaseReferences): string | null =>
  references.trials > 1 && !dto.dataset_record_id ? caseOfTrial(references, dto.case_id) : null;

const EMPTY_OBJECT = new RawJson('{}');
