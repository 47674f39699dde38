import { IsBoolean, IsOptional } from 'class-validator';
import { IsNullableTime, IsOptionalText, ValuesCheckedLater } from '#platform/http';
import { IsRuleFilters, IsTraceIds, type RuleFilterDto } from '../stats/rule-filter.dto';
import { DELETED_TRACES_MAX } from '../trace-deletion';

/** Traces to delete: either `trace_ids`, or a selection by `filters`, `since` and `until`. */
@ValuesCheckedLater()
export class TraceDeletionDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptionalText()
  workspace_id?: string;

  /** 1 to 1,000 traces. Unknown ones are remembered as deleted. */
  @IsTraceIds({ minItems: 1, maxItems: DELETED_TRACES_MAX })
  trace_ids?: string[] | null;

  /** Selects the traces that meet all of these conditions. */
  @IsRuleFilters()
  filters?: RuleFilterDto[] | null;

  /** Selects traces that started at this time or later (RFC 3339). */
  @IsNullableTime()
  since?: string | null;

  /** Selects traces that started before this time (RFC 3339). */
  @IsNullableTime()
  until?: string | null;

  /** Also deletes traces that an open scoring run, batch or annotation queue uses. Without it, they are counted as `traces_in_use`. */
  @IsOptional()
  @IsBoolean()
  force?: boolean | null;

  /** Whether to only count what would be deleted. */
  @IsOptional()
  @IsBoolean()
  dry_run?: boolean | null;
}
