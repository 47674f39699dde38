import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsOptional,
  Length,
  type ValidationArguments,
} from 'class-validator';
import {
  IsJsonObject,
  METADATA_MAX_BYTES,
  Nested,
  IsText,
  IsWholeNumber,
  IsNullableText,
} from '#platform/http';
import { DescribedBodyDto, IsName, IsVersionName, type VersionName } from '../../resources';

export const INSTRUCTIONS_MAX = 1_000_000;
export const TOOLS_MAX = 500;
export const SKILLS_MAX = 100;
const PERMISSIONS_MAX = 100;
const STEPS_MAX = 100_000;
export const STEPS_DEFAULT = 50;

/** Returns a message that names the elements with the same key, because class-validator's own message does not. */
const duplicatesBy = <One>(keyOf: (one: One) => unknown) => ({
  // class-validator requests this message even if the value is not a list.
  message: ({ value }: ValidationArguments): string => {
    const keys = (Array.isArray(value) ? value : []).map((one: One | null | undefined) => one && keyOf(one));
    const repeated = keys.findIndex((key, index) => keys.indexOf(key) < index);
    return `must not contain duplicates: /${keys.indexOf(keys[repeated])} and /${repeated} are the same`;
  },
});

const keyOfTool = ({ server_id, tool_name }: AgentToolDto) => JSON.stringify([server_id, tool_name]);
const keyOfSkill = ({ skill_id }: AgentSkillInputDto) => skill_id;

/** Declares the mark of a reference, which requests may send back. */
const IsErasedMark = (what: string) =>
  applyDecorators(
    IsOptional(),
    IsBoolean(),
    ApiProperty({
      type: 'boolean',
      required: false,
      description: `True if the ${what} was deleted, else absent. Ignored in requests.`,
    }),
  );

/** A tool that an agent may call. */
export class AgentToolDto {
  /** An MCP server of the workspace. */
  @IsText(255)
  server_id!: string;

  /** The name of a tool of that server. */
  @IsText(255)
  tool_name!: string;

  @IsErasedMark('server')
  erased?: boolean;
}

/** A skill of an agent. */
export class AgentSkillDto {
  skill_id!: string;

  /** The version that the agent is pinned to. Null means the newest. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  version_ordinal!: number | null;

  /** True if the skill, or the version, was deleted, else absent. */
  erased?: boolean;
}

/** A skill to give to an agent. */
export class AgentSkillInputDto {
  /** A skill of the workspace. */
  @IsText(255)
  skill_id!: string;

  /**
   * The version to pin the agent to: its number, a label, or `latest`. Stored as a number, so a label that moves later changes
   * nothing; without it, the agent uses the newest version.
   */
  @IsOptional()
  @IsVersionName()
  version_ordinal?: VersionName | null;

  @IsErasedMark('skill, or the version,')
  erased?: boolean;
}

export const IsMaxStepCount = (options: { default?: number } = {}) =>
  IsWholeNumber({ format: 'int32', minimum: 1, maximum: STEPS_MAX, required: false, ...options });

/** The members of an agent other than its name and its references. Declarations have them too. */
export class AgentFieldsDto extends DescribedBodyDto {
  @IsOptional()
  @IsName()
  display_name?: string | null;

  /** The name of the model, as the runtime of the agent knows it. */
  @IsOptional()
  @IsName()
  model?: string | null;

  @IsNullableText(INSTRUCTIONS_MAX, 0)
  instructions?: string | null;

  /** Permissions that the runtime of the agent must grant. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(PERMISSIONS_MAX)
  @ArrayUnique(duplicatesBy((one: unknown) => one))
  @ApiProperty({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 255 },
    maxItems: PERMISSIONS_MAX,
    uniqueItems: true,
    nullable: true,
    required: false,
  })
  @Length(1, 255, { each: true, message: 'must contain only strings of 1 to 255 characters' })
  required_permissions?: string[] | null;

  /** The number of steps after which the runtime of the agent should end a turn. */
  @IsOptional()
  @IsMaxStepCount({ default: STEPS_DEFAULT })
  max_step_count?: number | null;

  /**
   * Members of its A2A card, in the spelling of A2A 1.0, that replace the derived ones: `supportedInterfaces`, `provider`,
   * `documentationUrl`, `iconUrl`, `capabilities`, `securitySchemes`, `securityRequirements`, `defaultInputModes`,
   * `defaultOutputModes` and `skills`. At most 16 KiB as JSON; a PATCH merges them.
   */
  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, nullable: true, required: false })
  card?: object | null;
}

/** Declares a list of distinct tools. */
export const IsTools = () =>
  applyDecorators(
    Nested(() => AgentToolDto),
    ApiProperty({ type: [AgentToolDto], maxItems: TOOLS_MAX, nullable: true, required: false }),
    IsArray(),
    ArrayMaxSize(TOOLS_MAX),
    ArrayUnique(keyOfTool, duplicatesBy(keyOfTool)),
  );

/** Declares a list of distinct skills. */
export const IsSkills = () =>
  applyDecorators(
    Nested(() => AgentSkillInputDto),
    ApiProperty({ type: [AgentSkillInputDto], maxItems: SKILLS_MAX, nullable: true, required: false }),
    IsArray(),
    ArrayMaxSize(SKILLS_MAX),
    ArrayUnique(keyOfSkill, duplicatesBy(keyOfSkill)),
  );
