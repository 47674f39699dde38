import { ArrayMaxSize, IsArray, IsOptional } from 'class-validator';
import { ClosedBody } from '#platform/http';
import { AgentFieldsDto, SKILLS_MAX, TOOLS_MAX } from '../agents/agent-fields.dto';

/** A tool, whose server is named as it is declared or registered, or by its id. */
export interface DeclaredTool {
  server?: string | null;
  server_id?: string | null;
  tool_name: string;
}

/** A skill, by its name or by its id. */
export interface DeclaredSkill {
  skill?: string | null;
  skill_id?: string | null;
  version_ordinal?: number | null;
}

/** How an app declares an agent, but for its references, of which class-validator would take its time. */
@ClosedBody()
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

/** A spec without a fault. */
export type AgentSpec = AgentFieldsDto & {
  tools?: DeclaredTool[] | null;
  skills?: DeclaredSkill[] | null;
};
