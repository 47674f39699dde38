import { IsOptionalText } from '#platform/http';
import { IsTraceIds } from '../stats/rule-filter.dto';

/** Maximum number of traces that one request asks for. */
const TRACES_MAX = 100;

/** The traces to look for. */
export class TraceExistenceQueryDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptionalText()
  workspace_id?: string;

  /** 1 to 100 traces. */
  @IsTraceIds({ minItems: 1, maxItems: TRACES_MAX, required: true })
  trace_ids!: string[];
}

/** Which traces are stored. Both lists are in the order of the request, each id once. */
export class TraceExistenceDto {
  /** The traces of the workspace that can be read. */
  found!: string[];

  /** The traces that have not arrived, that were deleted, and those of other workspaces. */
  missing!: string[];
}
