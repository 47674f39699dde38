export { SkillDirectory } from './skill-directory';
export type { ReferredSkill, SkillReference } from './skill-version.repository';
export { SkillsHttpModule } from './skills.http.module';
export { SkillsModule } from './skills.module';
