import { ApiProperty, OmitType } from '@nestjs/swagger';
import { AnyJson, viewOf } from '#platform/http';
import { PageOf } from '#platform/paging';
import { ToolDto } from './tool.dto';

/** A version of a tool, as its server described it at that time. Versions never change. */
export class ToolVersionDto extends OmitType(ToolDto, ['generation', 'updated_at', 'archived_at']) {
  /** Numbered from 1 without gaps. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  override version_ordinal!: number;
}

export class ToolVersionPageDto extends PageOf(ToolVersionDto) {}

/** A version in a comparison. */
export class ComparedToolVersionDto {
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  version_ordinal!: number;
  version_id!: string;
  digest!: string;
  created_at!: Date;
}

/** Characters in a member that people cannot see but models read. */
export class HiddenCharactersDto {
  /** The member of the tool. */
  member!: string;
  /** The distinct characters, such as `U+200B`. At most 100. */
  code_points!: string[];
  /** The number of hidden characters, including repetitions. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  count!: number;
  /**
   * JSON pointers (RFC 6901) within the member to the first 20 strings and member names with hidden characters. An empty
   * string means the member itself.
   */
  pointers!: string[];
}

/** The newer version in a comparison. */
export class ReviewedToolVersionDto extends ComparedToolVersionDto {
  /**
   * Zero-width characters, bidirectional controls, variation selectors, tag characters and other characters that are not
   * visible; emojis contain some of them too. To see the hidden characters of the first version, compare it with itself.
   */
  hidden_characters!: HiddenCharactersDto[];
}

const CHANGE_OPS = ['add', 'remove', 'replace'] as const;

/** A difference within a JSON member. */
export class ToolJsonChangeDto {
  /** A JSON pointer (RFC 6901) within the member: in `from` for `remove`, in `to` otherwise. */
  pointer!: string;
  @ApiProperty({ enum: CHANGE_OPS })
  op!: (typeof CHANGE_OPS)[number];
  /** Absent for `add`. */
  @AnyJson({ required: false })
  before?: unknown;
  /** Absent for `remove`. */
  @AnyJson({ required: false })
  after?: unknown;
}

const CHANGE_KINDS = ['text', 'json'] as const;

/** A member of a tool that differs. */
export class ToolChangeDto {
  member!: string;
  /** `text` has `before`, `after` and `diff`; `json` has `changes` and `is_truncated`. */
  @ApiProperty({ enum: CHANGE_KINDS })
  kind!: (typeof CHANGE_KINDS)[number];
  @ApiProperty({ type: String, nullable: true, required: false })
  before?: string | null;
  @ApiProperty({ type: String, nullable: true, required: false })
  after?: string | null;
  /** The lines of a unified diff. Characters that people cannot see are escaped, such as `\u{200B}`. */
  diff?: string[];
  /**
   * At most 1,000 changes, with 1,048,576 characters of pointers and values together. A different order of members is
   * not a change.
   */
  changes?: ToolJsonChangeDto[];
  /** Whether there are more changes. To see all of them, read both versions. */
  is_truncated?: boolean;
}

/** The changes from one version of a tool to another. */
export class ToolDiffDto {
  tool_id!: string;
  from!: ComparedToolVersionDto;
  to!: ReviewedToolVersionDto;
  /** Whether both have the same digest. */
  is_identical!: boolean;
  changes!: ToolChangeDto[];
}

export const toToolVersionDto = viewOf(ToolVersionDto);

export const toComparedVersionDto = viewOf(ComparedToolVersionDto);
