import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsOptional, IsString, Length } from 'class-validator';
import { applyDecorators } from '@nestjs/common';
import { type Area, AREAS } from '#platform/auth';
import { IsOneOf } from '#platform/http';

const LIST_MAX = 100;
/** A server's name, a slash and a tool's name. */
const REFERENCE_MAX = 512;

const IsReferences = () =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(LIST_MAX),
    Length(1, REFERENCE_MAX, { each: true }),
  );

/** What a key allows. Nothing else is allowed, whatever the roles of its service account. */
export class KeyAllowBodyDto {
  /**
   * `read` (GET, and POSTs that search), `telemetry` (send traces, logs and metrics), `models` (call models), `apis` (call
   * registered APIs), `tools` (run tools of MCP servers) or `scores` (record scores).
   */
  @IsOptional()
  @IsOneOf(AREAS, { each: true, minItems: 1, nullable: true })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(AREAS.length)
  areas?: Area[] | null;

  /** Models in the account's workspaces, by name or id. Includes the area `models`; without it, that area allows all models. */
  @IsReferences()
  models?: string[] | null;

  /** Registered APIs in the account's workspaces, by name or id. Includes the area `apis`; without it, that area allows all APIs. */
  @IsReferences()
  apis?: string[] | null;

  /**
   * Tools of MCP servers in the account's workspaces, as `<server>/<tool>`, with the name or id of the server. Includes the area
   * `tools`; without it, that area allows all tools.
   */
  @IsReferences()
  tools?: string[] | null;

  /** An agent in the account's workspaces. Includes the area `tools`, limited to the tools that the agent declares when it is called. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  agent_id?: string | null;
}

/** What a key allows, with the current names of resources. Null for a list means that its area is not limited to one. */
export class KeyAllowDto {
  /** Includes the areas that the other members imply. */
  @ApiProperty({ enum: AREAS, isArray: true })
  areas!: readonly Area[];
  @ApiProperty({ type: [String], nullable: true })
  models!: string[] | null;
  @ApiProperty({ type: [String], nullable: true })
  apis!: string[] | null;
  /** As `<server>/<tool>`. */
  @ApiProperty({ type: [String], nullable: true })
  tools!: string[] | null;
  /** Only the tools that this agent declares are allowed; with `tools`, only those in both. */
  agent_id!: string | null;
}
