export { type SkillFile, SKILL_MD } from './format/skill-files';
export { SkillDirectory } from './skills/skill-directory';
export type { DescribedSkill } from './skills/skill.repository';
export { type SkillDto, SkillListQueryDto } from './skills/skill.dto';
export { SkillService } from './skills/skill.service';
export { SkillsHttpModule } from './skills.http.module';
export { SkillsModule } from './skills.module';
