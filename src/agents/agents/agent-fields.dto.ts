import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayUnique,
  IsArray,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Max,
  MaxLength,
  Min,
  type ValidationArguments,
} from 'class-validator';
import { IsJsonObject, METADATA_MAX_BYTES, Nested } from '#platform/http';
import { IsDescription, IsName } from '../../registry';

export const INSTRUCTIONS_MAX = 1_000_000;
export const TOOLS_MAX = 500;
export const SKILLS_MAX = 100;
const PERMISSIONS_MAX = 100;
const STEPS_MAX = 100_000;
export const STEPS_DEFAULT = 50;

/** In place of what class-validator says of a list, which is hardly a sentence: which of its elements have one key. */
const twiceBy = <One>(keyOf: (one: One) => unknown) => ({
  // also asked of what is no list, and of lists with other elements
  message: ({ value }: ValidationArguments): string => {
    const keys = (Array.isArray(value) ? value : []).map((one: One | null | undefined) => one && keyOf(one));
    const repeated = keys.findIndex((key, index) => keys.indexOf(key) < index);
    return `may not name the same twice, as /${keys.indexOf(keys[repeated])} and /${repeated} do`;
  },
});

const keyOfTool = ({ server_id, tool_name }: AgentToolDto) => JSON.stringify([server_id, tool_name]);
const keyOfSkill = ({ skill_id }: AgentSkillDto) => skill_id;

/** A tool that an agent may call. */
export class AgentToolDto {
  /** An MCP server of the workspace. */
  @IsString()
  @Length(1, 255)
  server_id!: string;

  /** A tool of it. */
  @IsString()
  @Length(1, 255)
  tool_name!: string;
}

/** A skill that an agent has. */
export class AgentSkillDto {
  /** A skill of the workspace. */
  @IsString()
  @Length(1, 255)
  skill_id!: string;

  /** The version it is held to; the newest there is unless given. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2 ** 31 - 1)
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true, required: false })
  version_ordinal?: number | null;
}

export const IsMaxStepCount = (options: { default?: number } = {}) =>
  applyDecorators(
    IsInt(),
    Min(1),
    Max(STEPS_MAX),
    ApiProperty({
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: STEPS_MAX,
      required: false,
      ...options,
    }),
  );

/** What an agent is but for its references: the members of its creation that a declaration has, too. */
export class AgentFieldsDto {
  @IsOptional()
  @IsName()
  display_name?: string | null;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  /** The model it runs on, as whoever runs it names it. */
  @IsOptional()
  @IsName()
  model?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(INSTRUCTIONS_MAX)
  instructions?: string | null;

  /** What it has to be allowed to do, as whoever runs it names that. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(PERMISSIONS_MAX)
  @ArrayUnique(twiceBy((one: unknown) => one))
  @ApiProperty({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 255 },
    maxItems: PERMISSIONS_MAX,
    uniqueItems: true,
    nullable: true,
    required: false,
  })
  @Length(1, 255, { each: true, message: 'must have elements that are texts of 1 to 255 characters' })
  required_permissions?: string[] | null;

  /** Steps after which whoever runs it should end a turn. */
  @IsOptional()
  @IsMaxStepCount({ default: STEPS_DEFAULT })
  max_step_count?: number | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** Tools, each once. */
export const IsTools = () =>
  applyDecorators(
    Nested(() => AgentToolDto),
    ApiProperty({ type: [AgentToolDto], maxItems: TOOLS_MAX, nullable: true, required: false }),
    IsArray(),
    ArrayMaxSize(TOOLS_MAX),
    ArrayUnique(keyOfTool, twiceBy(keyOfTool)),
  );

/** Skills, each once. */
export const IsSkills = () =>
  applyDecorators(
    Nested(() => AgentSkillDto),
    ApiProperty({ type: [AgentSkillDto], maxItems: SKILLS_MAX, nullable: true, required: false }),
    IsArray(),
    ArrayMaxSize(SKILLS_MAX),
    ArrayUnique(keyOfSkill, twiceBy(keyOfSkill)),
  );
