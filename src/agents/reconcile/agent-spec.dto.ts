import { ArrayMaxSize, IsArray, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { ClosedBody, Nested, validateBody } from '#platform/http';
import { type FieldError, Problem } from '#platform/problem';
import { AgentFieldsDto } from '../agents/agent-fields.dto';

/** A tool, whose server is named as it is declared or registered, or by its id. */
@ClosedBody()
class DeclaredToolDto {
  @IsOptional()
  @IsString()
  @Length(1, 255)
  server?: string | null;

  @IsOptional()
  @IsString()
  @Length(1, 255)
  server_id?: string | null;

  @IsString()
  @Length(1, 255)
  tool_name!: string;
}

/** A skill, by its name or by its id. */
@ClosedBody()
class DeclaredSkillDto {
  @IsOptional()
  @IsString()
  @Length(1, 255)
  skill?: string | null;

  @IsOptional()
  @IsString()
  @Length(1, 255)
  skill_id?: string | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2 ** 31 - 1)
  version_ordinal?: number | null;
}

/** How an app declares an agent. A member that it does not have would be declared in vain, and is refused. */
@ClosedBody()
export class AgentSpecDto extends AgentFieldsDto {
  @IsOptional()
  @Nested(() => DeclaredToolDto)
  @IsArray()
  @ArrayMaxSize(500)
  tools?: DeclaredToolDto[] | null;

  @IsOptional()
  @Nested(() => DeclaredSkillDto)
  @IsArray()
  @ArrayMaxSize(100)
  skills?: DeclaredSkillDto[] | null;
}

/** What of a spec is not of the right form. */
export function faultsInSpec(spec: Record<string, unknown>, pointer: string): FieldError[] {
  try {
    const dto = validateBody(AgentSpecDto, spec, pointer);
    return [
      ...faultsOf(dto.tools, 'server', ({ server, server_id }) => [server, server_id], `${pointer}/tools`),
      ...faultsOf(dto.skills, 'skill', ({ skill, skill_id }) => [skill, skill_id], `${pointer}/skills`),
    ];
  } catch (error) {
    if (error instanceof Problem && error.errors) return [...error.errors];
    throw error;
  }
}

/** Exactly one of the two ways to refer, and nothing twice. */
function faultsOf<Reference>(
  references: readonly Reference[] | null | undefined,
  member: string,
  ways: (reference: Reference) => unknown[],
  pointer: string,
): FieldError[] {
  const seen = new Set<string>();
  return (references ?? []).flatMap((one, index) => {
    const place = `${pointer}/${index}`;
    if (ways(one).filter((way) => way != null).length !== 1) {
      return [{ pointer: place, detail: `must have either ${member} or ${member}_id` }];
    }
    const { version_ordinal: _, ...key } = one as Record<string, unknown>;
    const text = JSON.stringify(key);
    const fault = seen.has(text) ? [{ pointer: place, detail: 'is there twice' }] : [];
    seen.add(text);
    return fault;
  });
}
