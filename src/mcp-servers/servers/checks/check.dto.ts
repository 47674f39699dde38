import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean } from 'class-validator';
import { NotNull, viewOf } from '#platform/http';
import { OrderedListQueryDto, PageOf, ToBoolean } from '#platform/paging';
import { ServerFailureDto } from '../server.dto';
import { CHECK_TRIGGERS, type CheckRow, type CheckTrigger } from './check.types';

/** Checks are never archived. They are deleted after `MCP_CHECK_RETENTION_DAYS`. */
export class CheckListQueryDto extends OrderedListQueryDto {
  /** `true`: only checks that succeeded. `false`: only checks that failed. */
  @NotNull()
  @IsBoolean()
  @ToBoolean()
  @ApiProperty({ required: false, type: Boolean })
  ok?: boolean;
}

/** The numbers of tools that a check added, updated, archived and left unchanged. */
export class ToolCountsDto {
  /** New tools, and tools that reappeared. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  added_count!: number;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  updated_count!: number;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  archived_count!: number;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  unchanged_count!: number;
}

/** The name and version that a server reports about itself. */
export class ServerInfoDto {
  name!: string;
  version!: string;
  title!: string | null;
}

/** A listed tool that cannot be used. */
export class SkippedToolDto {
  /** The name, or the place in the list, such as `#2`, if it has no valid name. */
  name!: string;
  /** The member of the tool that is invalid, and its rule. */
  reason!: string;
}

/** A check of a server by the schedule, `test` or `refresh`. Checks never change. */
export class ServerCheckDto {
  server_id!: string;
  /** The number of the check. Each server counts its own checks. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  check_ordinal!: number;
  /** `request` means that `test` or `refresh` was called. */
  @ApiProperty({ enum: CHECK_TRIGGERS })
  trigger!: CheckTrigger;
  ok!: boolean;
  checked_at!: Date;
  /** Milliseconds from connecting until all tools were listed. Null if the check failed. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0, nullable: true })
  latency_ms!: number | null;
  protocol_version!: string | null;
  @ApiProperty({ type: ServerInfoDto, nullable: true })
  server_info!: ServerInfoDto | null;
  @ApiProperty({ type: ServerFailureDto, nullable: true })
  error!: ServerFailureDto | null;
  /** Null if the check failed, because a failed check does not change the tools. */
  @ApiProperty({ type: ToolCountsDto, nullable: true })
  tools!: ToolCountsDto | null;
  /** The first 20 listed tools that were left out. Null if the check failed. */
  @ApiProperty({ type: [SkippedToolDto], nullable: true })
  skipped!: SkippedToolDto[] | null;
}

export class ServerCheckPageDto extends PageOf(ServerCheckDto) {}

/** The names of the tools that a refresh changed. */
export class ToolChangesDto {
  /** New tools, and tools that reappeared. */
  added!: string[];
  /** Tools whose digest changed. */
  updated!: string[];
  /** Tools that the server no longer lists, or that can no longer be used. */
  archived!: string[];
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  unchanged_count!: number;
  /** Listed tools that are left out, for example because of an invalid `inputSchema`. Absent if there are none. */
  @ApiProperty({ type: [SkippedToolDto], required: false })
  skipped?: SkippedToolDto[];
}

/** The result of a test. If the server cannot be used, `error` is set and the tools do not change. */
export class ServerTestDto {
  ok!: boolean;
  protocol_version?: string;
  @ApiProperty({ type: ServerInfoDto, nullable: true, required: false })
  server_info?: ServerInfoDto | null;
  /** Milliseconds from connecting until all tools were listed. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0, required: false })
  latency_ms?: number;
  @ApiProperty({ type: ToolChangesDto, required: false })
  tools?: ToolChangesDto;
  @ApiProperty({ type: ServerFailureDto, required: false })
  error?: ServerFailureDto;
}

/** Only checks that failed have no counts. */
const toCounts = viewOf(ToolCountsDto) as (row: CheckRow) => ToolCountsDto;

export const toServerCheckDto = viewOf(ServerCheckDto, (row: CheckRow) => ({
  ok: row.error === null,
  tools: row.error === null ? toCounts(row) : null,
}));
