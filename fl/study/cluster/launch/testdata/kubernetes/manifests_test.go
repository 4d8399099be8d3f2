package kubernetes

import (
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// TestManifests decodes the manifests for Kubernetes into its types: no field is unknown, and
// each Service, claim and Job has a name of its own.
func TestManifests(t *testing.T) {
	text, err := os.ReadFile("../../kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		content, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		var about metav1.PartialObjectMetadata
		if err := json.UnmarshalCaseSensitivePreserveInts(content, &about); err != nil {
			t.Fatal(err)
		}
		name := about.Kind + " " + about.Name
		object := map[string]any{
			"v1 PersistentVolumeClaim": &corev1.PersistentVolumeClaim{}, "v1 Service": &corev1.Service{},
			"batch/v1 Job": &batchv1.Job{},
		}[about.APIVersion+" "+about.Kind]
		if object == nil || about.Name == "" || names[name] {
			t.Errorf("unknown, or there twice: %s %s", about.APIVersion, name)
			continue
		}
		names[name] = true
		wrong, err := json.UnmarshalStrict(content, object)
		if err != nil || len(wrong) > 0 {
			t.Errorf("%s: %v %v", name, err, wrong)
		}
	}
	if len(names) != 4 {
		t.Errorf("%d objects, want 4: %v", len(names), names)
	}
}
