export { SkillDirectory } from './skills/skill-directory';
export { SkillsHttpModule } from './skills.http.module';
export { SkillsModule } from './skills.module';
