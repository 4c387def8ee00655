package examples_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
)

// TestDeployments starts slidegate with the arguments, the environment and the
// files that Kubernetes, systemd and ECS give it.
func TestDeployments(t *testing.T) {
	program := build(t, "../cmd/slidegate")
	t.Run("ecs", func(t *testing.T) { runTask(t, program) })
	for name, test := range map[string]func(*testing.T, string){"shared": runShared, "sidecar": runSidecar, "systemd": runUnit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, program)
		})
	}
}

const token = "0123456789abcdef"

// runShared: two replicas count together, follow the ConfigMap, and drain.
func runShared(t *testing.T, program string) {
	objects := manifests(t, "kubernetes/shared.yaml")
	data, pod := objects["ConfigMap"].Data, objects["Deployment"].Spec.Template.Spec
	if stated := fmt.Sprintf("instances: %d}", objects["HorizontalPodAutoscaler"].Spec.MaxReplicas); !strings.Contains(data["rules.yaml"], stated) {
		t.Errorf("the rules lack %s", stated)
	}
	redis, dir := servers.StartRedis(t), t.TempDir()
	mount(t, dir, data)
	var replicas [2]*replica
	for i := range replicas {
		replicas[i] = pod.Containers[0].start(t, program, "redis://redis:6379/0", redis.URL(), "/etc/slidegate", dir)
	}
	if status := replicas[0].decide(t, "none"); status != 401 {
		t.Errorf("without the token: status %d", status)
	}
	count := func(n int) {
		t.Helper()
		for i := range n + 2 {
			if got, want := replicas[i%2].decide(t, token), map[bool]int{true: 200, false: 429}[i < n]; got != want {
				t.Fatalf("request %d of %d: status %d", i, n, got)
			}
		}
	}
	count(100)
	mount(t, dir, map[string]string{"rules.yaml": strings.Replace(data["rules.yaml"], "100/minute", "104/minute", 1)})
	for _, r := range replicas {
		eventually(t, "the new rules are in force", func() bool { return r.decide(t, token) == 200 })
	}
	count(2)

	_, metrics := exchange(t, http.MethodGet, replicas[0].Admin+"/metrics", "")
	for _, name := range regexp.MustCompile(`(slidegate|process)_[a-z_]+`).FindAllString(read(t, page), -1) {
		if !regexp.MustCompile(`(?m)^` + name + `(_bucket)?[ {]`).MatchString(metrics) {
			t.Errorf("%s names %s, and there is no such metric", page, name)
		}
	}

	begun := time.Now()
	replicas[0].signal(t, syscall.SIGTERM)
	eventually(t, "it is not ready", func() bool { return get(t, replicas[0].Admin+"/readyz") == 503 })
	if status := replicas[0].decide(t, token); status != 429 {
		t.Errorf("while it drains: status %d", status)
	}
	replicas[0].ended(t)
	if grace := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second; time.Since(begun)+15*time.Second > grace {
		t.Errorf("drained after %v, and the last requests may take 15s: want less than %v", time.Since(begun), grace)
	}
}

// runSidecar: requests reach the program through the sidecar, which ends at once
// after the program.
func runSidecar(t *testing.T, program string) {
	objects := manifests(t, "kubernetes/sidecar.yaml")
	data, deployment := objects["ConfigMap"].Data, objects["Deployment"].Spec
	if stated := fmt.Sprintf("instances: %d}", deployment.Replicas); !strings.Contains(data["rules.yaml"], stated) {
		t.Errorf("the rules lack %s", stated)
	}
	redis, dir := servers.StartRedis(t), t.TempDir()
	mount(t, dir, data)
	r := deployment.Template.Spec.InitContainers[0].start(t, program, "redis://redis:6379/0", redis.URL(), "/etc/slidegate", dir)
	for i := range 102 {
		if got, want := get(t, r.URL, "X-Forwarded-For", "192.0.2.1, 203.0.113.9"), map[bool]int{true: 200, false: 429}[i < 100]; got != want {
			t.Fatalf("request %d: status %d", i, got)
		}
	}
	if status := get(t, r.URL, "X-Forwarded-For", "203.0.113.9, 203.0.113.10"); status != 200 {
		t.Errorf("another client: status %d", status)
	}
	r.signal(t, syscall.SIGTERM)
	r.ended(t)
}

// runUnit: systemd takes the unit as it is, and finds little to harden. Its command
// serves, and reads the rules again when it is told to.
func runUnit(t *testing.T, program string) {
	text := strings.Replace(read(t, "systemd/slidegate.service"), "/usr/local/bin/slidegate", program, 1)
	unit := filepath.Join(t.TempDir(), "slidegate.service")
	write(t, unit, text)
	for _, check := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=true", "--threshold=15", "--no-pager", unit}} {
		output, err := exec.Command("systemd-analyze", check...).CombinedOutput()
		if err != nil || check[0] == "verify" && len(output) > 0 {
			t.Errorf("systemd-analyze %s, which the package systemd has: %v\n%s", check[0], err, output)
		}
	}
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	write(t, rules, `rules: [{name: per-ip, key: "ip:{ip}", limit: 1/hour}]`)
	command := regexp.MustCompile(`(?m)^ExecStart=\S+ (.*)$`).FindStringSubmatch(text)
	r := container{Args: strings.Fields(command[1])}.start(t, program, "/etc/slidegate", dir)
	if first, second := get(t, r.URL), get(t, r.URL); first != 200 || second != 429 {
		t.Errorf("status %d, then %d", first, second)
	}
	write(t, rules+"~", `rules: [{name: per-ip, key: "ip:{ip}", limit: 2/hour}]`)
	if err := os.Rename(rules+"~", rules); err != nil {
		t.Fatal(err)
	}
	r.signal(t, syscall.SIGHUP)
	eventually(t, "the new rules are in force", func() bool { return get(t, r.URL) == 200 })
}

// runTask: the AWS SDK takes the task definition as it is. Its command serves by
// the tables that it names.
func runTask(t *testing.T, program string) {
	python, err := filepath.Abs("../.cache/clients/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{"essential": "\n", "essentials": "Unknown parameter"} {
		check := exec.Command(python, "-c", `import json, sys, botocore.session, botocore.validate
model = botocore.session.get_session().get_service_model("ecs").operation_model("RegisterTaskDefinition")
print(botocore.validate.ParamValidator().validate(json.load(sys.stdin), model.input_shape).generate_report())`)
		check.Stdin = strings.NewReader(strings.ReplaceAll(read(t, "ecs/task-definition.json"), `"essential"`, `"`+field+`"`))
		output, err := check.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(output), want) {
			t.Errorf("the SDK, which localstack/clients.sh installs, says %v\n%s", err, output)
		}
	}
	var task struct{ ContainerDefinitions []container }
	if err := json.Unmarshal([]byte(read(t, "ecs/task-definition.json")), &task); err != nil {
		t.Fatal(err)
	}
	client := dynamotest.Connect(t)
	counters, rules := dynamotest.Counters(t, client), dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, `rules: [{name: per-ip, key: "ip:{ip}", limit: 1/hour}]`)
	if output, err := exec.Command(program, "rules", "apply", file, "--rules", "dynamodb://"+rules, "--why", "a test").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	r := task.ContainerDefinitions[0].start(t, program, "slidegate-rules", rules, "slidegate-counters", counters)
	if first, second := get(t, r.URL), get(t, r.URL); first != 200 || second != 429 {
		t.Errorf("status %d, then %d", first, second)
	}
}

// mount writes a ConfigMap as a kubelet does: it renames a link to a new directory
// over the one before, and removes the directory before.
func mount(t *testing.T, dir string, data map[string]string) {
	t.Helper()
	link := filepath.Join(dir, "..data")
	before, _ := os.Readlink(link)
	version, err := os.MkdirTemp(dir, "..")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range data {
		write(t, filepath.Join(version, name), text)
		if before == "" {
			err = os.Symlink("..data/"+name, filepath.Join(dir, name))
		}
	}
	if err == nil {
		err = os.Symlink(filepath.Base(version), link+"~")
	}
	if err == nil {
		err = os.Rename(link+"~", link)
	}
	if err == nil && before != "" {
		err = os.RemoveAll(filepath.Join(dir, before))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replica is slidegate as a deployment starts it.
type replica struct {
	URL, Admin string
	command    *exec.Cmd
}

// start starts slidegate, and returns when it listens and all its probes succeed.
// here has pairs of what the deployment says and what takes its place.
func (c container) start(t *testing.T, program string, here ...string) *replica {
	t.Helper()
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(backend.Close)
	replaced := strings.NewReplacer(append(here, "http://127.0.0.1:3000", backend.URL,
		"127.0.0.1:9090", "127.0.0.1:0", ":9090", "127.0.0.1:0", ":8080", "127.0.0.1:0")...)
	r := &replica{}
	r.command = exec.Command(program)
	r.command.Env = os.Environ()
	for _, arg := range append(c.Args, c.Command...) {
		r.command.Args = append(r.command.Args, replaced.Replace(arg))
	}
	if stated := fmt.Sprint(c); strings.Contains(stated, "redis://") || strings.Contains(stated, "dynamodb://") {
		r.command.Args = append(r.command.Args, "--deadline=5s") // a busy machine lets the store wait
	}
	for _, e := range append(c.Env, c.Environment...) {
		if e.Name == "SLIDEGATE_DECIDE_TOKEN" {
			e.Value = token
		}
		r.command.Env = append(r.command.Env, e.Name+"="+replaced.Replace(e.Value))
	}
	stderr, err := r.command.StderrPipe()
	if err == nil {
		err = r.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.command.ProcessState == nil {
			_ = r.command.Process.Kill()
			_ = r.command.Wait()
		}
	})
	for lines := json.NewDecoder(stderr); r.URL == ""; {
		if err := lines.Decode(r); err != nil {
			t.Fatalf("%v %v: %v", r.command.Args, r, err)
		}
	}
	go io.Copy(io.Discard, stderr)
	for _, path := range []string{c.StartupProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path} {
		if status := get(t, r.Admin+path); status != 200 {
			t.Errorf("the probe %s: status %d", path, status)
		}
	}
	return r
}

// decide asks for a decision, and returns the status that the client gets.
func (r *replica) decide(t *testing.T, token string) int {
	t.Helper()
	status, body := exchange(t, http.MethodPost, r.URL+"/v1/decisions", `{"method": "GET", "path": "/", "ip": "203.0.113.9"}`,
		"Authorization", "Bearer "+token, "Content-Type", "application/json")
	decision := struct{ Status int }{status}
	if err := json.Unmarshal([]byte(body), &decision); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return decision.Status
}

func (r *replica) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := r.command.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// ended waits for the end of a process, which must succeed.
func (r *replica) ended(t *testing.T) {
	t.Helper()
	if err := r.command.Wait(); err != nil {
		t.Error(err)
	}
}

// exchange sends a request. fields are names and values of header fields.
func exchange(t *testing.T, method, url, body string, fields ...string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		request.Header.Set(fields[i], fields[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func get(t *testing.T, url string, fields ...string) (status int) {
	t.Helper()
	status, _ = exchange(t, http.MethodGet, url, "", fields...)
	return status
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 15 s: %s", what)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
