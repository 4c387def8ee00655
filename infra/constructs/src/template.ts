import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { Construct } from 'constructs';

/** asset returns the path of a file of the release. */
export const asset = (name: string): string => join(__dirname, '..', 'assets', name);

/**
 * include adds the release's template to scope, without the resources and outputs
 * whose names drop matches. A parameter that is not given has its default. What the
 * parameters decide is decided here: the CDK warns of conditions that never change.
 */
export function include(scope: Construct, given: { [parameter: string]: string }, drop: RegExp): CfnInclude {
  const template = JSON.parse(readFileSync(asset('template.json'), 'utf8'));
  const parameters: { [name: string]: string } = {};
  for (const [name, { Default }] of Object.entries<any>(template.Parameters)) {
    parameters[name] = given[name] ?? String(Default ?? '');
  }
  const { Conditions, Resources, Outputs } = template;
  const decided: { [condition: string]: any } = {};
  Object.keys(Conditions).forEach(name => decided[name] = simplify({ Condition: name }, Conditions, parameters));
  for (const section of [Resources, Outputs]) {
    for (const [name, element] of Object.entries<any>(section)) {
      const condition = decided[element.Condition] ?? true;
      element.Condition = condition.Condition; // undefined if it is decided, which JSON leaves out
      if (condition === false || drop.test(name)) {
        delete section[name];
      }
    }
  }
  Object.keys(Conditions).filter(name => decided[name].Condition !== name).forEach(name => delete Conditions[name]);
  delete template.Description; // would be appended to that of the app's stack

  const dir = mkdtempSync(join(tmpdir(), 'slidegate-'));
  try {
    const templateFile = join(dir, 'template.json');
    writeFileSync(templateFile, JSON.stringify(choose(template, decided)));
    return new CfnInclude(scope, 'Template', { templateFile, parameters });
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** simplify returns true or false, or what is left to CloudFormation: {Condition: NAME}. */
function simplify(e: any, conditions: any, parameters: { [name: string]: string }): any {
  const [operator, value] = Object.entries<any>(e)[0];
  const operands = () => value.map((v: any) => simplify(v, conditions, parameters));
  switch (operator) {
    case 'Condition': {
      const inner = simplify(conditions[value], conditions, parameters);
      return typeof inner === 'boolean' || inner.Condition ? inner : e;
    }
    case 'Fn::Equals':
      return value[0].Ref in parameters ? parameters[value[0].Ref] === value[1] : e;
    case 'Fn::Not': {
      const [inner] = operands();
      return typeof inner === 'boolean' ? !inner : e;
    }
    case 'Fn::And': {
      const left = operands().filter((o: any) => o !== true);
      return left.includes(false) ? false : left.length > 1 ? e : left[0] ?? true;
    }
    default:
      return e;
  }
}

/** choose replaces each Fn::If that is decided by its value, and leaves out what has none. */
function choose(value: any, decided: { [condition: string]: any }): any {
  if (value === null || typeof value !== 'object') {
    return value;
  }
  const [condition, yes, no] = value['Fn::If'] ?? [];
  if (typeof decided[condition] === 'boolean') {
    return choose(decided[condition] ? yes : no, decided);
  }
  if (condition in decided) {
    return { 'Fn::If': [decided[condition].Condition, choose(yes, decided), choose(no, decided)] };
  }
  if (value.Ref === 'AWS::NoValue') {
    return undefined; // which JSON leaves out of objects
  }
  if (Array.isArray(value)) {
    const chosen = value.map(v => choose(v, decided)).filter(v => v !== undefined);
    return chosen.length > 0 || value.length === 0 ? chosen : undefined;
  }
  return Object.fromEntries(Object.entries(value).map(([name, v]) => [name, choose(v, decided)]));
}
