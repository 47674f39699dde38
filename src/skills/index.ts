export { SkillDirectory } from './skills/skill-directory';
export { SkillListQueryDto } from './skills/skill.dto';
export { SkillService } from './skills/skill.service';
export { SkillsHttpModule } from './skills.http.module';
export { SkillsModule } from './skills.module';
