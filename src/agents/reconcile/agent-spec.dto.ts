import { ArrayMaxSize, IsArray, IsOptional } from 'class-validator';
import type { VersionName } from '../../resources';
import { AgentFieldsDto, SKILLS_MAX, TOOLS_MAX } from '../agents/agent-fields.dto';

/** A reference to a tool. Names its server by name, declared or registered, or by id. */
export interface DeclaredTool {
  server?: string | null;
  server_id?: string | null;
  tool_name: string;
}

/** A reference to a skill, by its name or by its id. A label of a version is resolved by each reconcile. */
export interface DeclaredSkill {
  skill?: string | null;
  skill_id?: string | null;
  version_ordinal?: VersionName | null;
}

/** The spec of a declared agent. `specFaults` checks its references, because class-validator is slow for many. */
export class AgentSpecDto extends AgentFieldsDto {
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOLS_MAX)
  tools?: unknown[] | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(SKILLS_MAX)
  skills?: unknown[] | null;
}

/** A validated spec. */
export type AgentSpec = AgentFieldsDto & {
  tools?: DeclaredTool[] | null;
  skills?: DeclaredSkill[] | null;
};
