import { ClosedBody, Nested } from '#platform/http';
import { SkillFileInputDto, SkillSpecDto } from '../skill-members.dto';

@ClosedBody()
class DeclaredSkillFileDto extends SkillFileInputDto {}

/** How an app declares a skill. A member that it does not have would be declared in vain, and is refused. */
@ClosedBody()
export class DeclaredSkillSpecDto extends SkillSpecDto {
  @Nested(() => DeclaredSkillFileDto)
  declare files?: DeclaredSkillFileDto[] | null;
}
